"""Composite operators in ``run_decompositions``: asked for and overridden six times a lowering, here with a memory.

torch walks all composite operators of all namespaces to learn which may be kept whole, and puts some twenty kernels
into the table of each of 470 operators, one by one, before it traces, and takes them out afterwards. The tables hold
the same kernels here, put in at once. Nothing is replaced where torch's own functions are not those of the version
whose source was read. Needs torch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from corstone.lowering.replacing import is_known

_QUESTION = "_collect_all_valid_cia_ops"
_MATERIALIZE = "_materialize_cpp_cia_ops"
_OVERRIDE = "_override_composite_implicit_decomp"
_QUESTION_READ = "1d09a99ea79bd377c8f0acc97247545fc7c769103e4e94cad6e72370598fd615"
_OVERRIDE_READ = "4422dc79d0792af728dd8eacf0a2fadcf00195c8802ceca15632b737d9d5c9bd"


def remember_composite_operators() -> None:
    """Replace both functions where they are the known ones."""
    _remember_which()
    _override_at_once()


def _remember_which() -> None:
    """The answer changes only where an operator is registered or withdrawn, so namespaces that are new are walked."""
    import torch._export.utils as utils
    import torch.export.decomp_utils as tables
    import torch.export.exported_program as programs

    original = getattr(utils, _QUESTION, None)
    same = all(getattr(module, _QUESTION, None) is original for module in (tables, programs))
    if not same or not is_known(original, _QUESTION_READ):
        return
    memory = _Memory(utils)
    for module in (utils, tables, programs):
        setattr(module, _QUESTION, memory)
    memory()


class _Memory:
    """``_collect_all_valid_cia_ops``, answered from what was found before and the namespaces that came since."""

    def __init__(self, utils: Any) -> None:
        self._everything: Callable[[], set[Any]] = getattr(utils, _QUESTION)
        self._of_namespace: Callable[[Any], set[Any]] = utils._collect_all_valid_cia_ops_for_namespace
        self._utils = utils
        self._materialize: Callable[[], None] = getattr(utils, _MATERIALIZE)
        self._names: frozenset[str] = frozenset()
        self._spaces: frozenset[str] = frozenset()
        self._known: frozenset[Any] = frozenset()

    def __call__(self) -> set[Any]:
        names = frozenset(torch._C._dispatch_get_all_op_names())
        if names == self._names and self._spaces.issuperset(torch.ops._dir):
            return set(self._known)
        new = names - self._names
        spaces = {name.partition("::")[0] for name in new} | (set(torch.ops._dir) - self._spaces)
        if not self._names or self._names - names or spaces & self._spaces:
            self._remember()
            return set(self._known)
        # Not kept: the namespaces of a lowering go with it.
        found = set(self._known)
        with self._materialized():
            for space in set(torch.ops._dir) - self._spaces:
                if isinstance(namespace := getattr(torch.ops, space), torch._ops._OpNamespace):
                    found |= self._of_namespace(namespace)
        return found

    @contextmanager
    def _materialized(self) -> Iterator[None]:
        """Ask for all operators once, and not again for each of seventy namespaces."""
        self._materialize()
        setattr(self._utils, _MATERIALIZE, lambda: None)
        try:
            yield
        finally:
            setattr(self._utils, _MATERIALIZE, self._materialize)

    def _remember(self) -> None:
        with self._materialized():
            self._known = frozenset(self._everything())
        # Walking all of them has made some.
        self._names = frozenset(torch._C._dispatch_get_all_op_names())
        self._spaces = frozenset(torch.ops._dir) | {name.partition("::")[0] for name in self._names}


def _override_at_once() -> None:
    import torch.export.exported_program as programs

    if is_known(getattr(programs, _OVERRIDE, None), _OVERRIDE_READ):
        setattr(programs, _OVERRIDE, _Override(programs).in_force)


class _Override:
    """``_override_composite_implicit_decomp``: an operator's kernels are made once and put into its table at once."""

    def __init__(self, programs: Any) -> None:
        from torch._subclasses import fake_impls

        self._programs = programs
        self._rules = fake_impls.op_implementations_dict
        self._withdraw = fake_impls._deregister_op_impl
        # Operator to what its table held and what it got.
        self._made: dict[Any, tuple[dict[Any, Any], dict[Any, Any], Any]] = {}

    @contextmanager
    def in_force(self, callables: Mapping[Any, Any]) -> Iterator[None]:
        """As torch's: operator to what it shall be decomposed by."""
        composite = torch._C.DispatchKey.CompositeImplicitAutograd
        saved = []
        for op, decomposition in callables.items():
            table = op.py_kernels
            before = table.copy()
            saved.append((op, before))
            made = self._made.get(op)
            if made is None or made[0] != before:
                made = self._made[op] = (before, *self._kernels(op, before))
            _, kernels, rule = made
            table.update(kernels)
            table[composite] = decomposition
            if op not in self._rules:
                self._rules[op] = rule
            op._dispatch_cache.clear()
        try:
            yield
        finally:
            for op, before in saved:
                op.py_kernels.clear()
                op.py_kernels.update(before)
                op._dispatch_cache.clear()
                self._withdraw(op)

    def _kernels(self, op: Any, before: Mapping[Any, Any]) -> tuple[dict[Any, Any], Any]:
        """The kernels an operator gets beside those it has, and its rule for tensors without data."""
        programs = self._programs
        original = programs._get_decomp_for_cia(op)
        no_autograd = programs.autograd_not_implemented(op, deferred_error=True)
        kernels = {key: no_autograd for key in programs._AUTOGRAD_ALIAS_BACKEND_KEYS_TO_OVERRIDE if key not in before}
        kernels |= {key: original for key in programs._BACKEND_KEYS_TO_OVERRIDE if key not in before}
        return kernels, functools.partial(_as_it_was, original_callable=original)


def _as_it_was(fake_tensor_mode: Any, op: Any, *args: Any, original_callable: Any, **kwargs: Any) -> Any:
    del op
    with fake_tensor_mode:
        return original_callable(*args, **kwargs)
