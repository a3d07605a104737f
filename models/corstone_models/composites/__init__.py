"""Networks beyond one inverse function: other operators with a domain or a pole, and small networks of real use.

``registry`` has their rows, without torch; ``steep`` and ``heads`` the modules.
"""
