"""The emulator under the names of Arm's FVPs, for scripts and test suites of others.

``install.py`` lays the folder out, ``__main__.py`` is what each shim starts. ``suite_*.py`` run ExecuTorch's own Arm
tests against such a folder. Nothing here is ever taken for an FVP by our own providers (``boards.providers.fvp``).
"""
