"""Small faults that a test should notice, each one change to one place of a module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
SWAPPED = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
UNSEEN = ("Literal", "field", "dataclass", "raise", "warn")  # what no result depends on


@dataclass(frozen=True)
class Mutant:
    """A changed module: which line, what stood there, what stands there now, and the whole text."""

    line: int
    before: str
    after: str
    text: str


def places(source: str) -> list[tuple[int, int]]:
    """All mutants of a module, from top to bottom: which expression, and which of its changes."""
    found = [_changes(node) for _, node in _walk(ast.parse(source))]
    return [(place, change) for place, changes in enumerate(found) for change in range(len(changes))]


def mutant(source: str, place: int, change: int) -> Mutant:
    """Make one of the mutants that ``places`` lists."""
    tree = ast.parse(source)
    parent, old = next(islice(_walk(tree), place, None))
    before, new = ast.unparse(old), _changes(old)[change]
    _replace(parent, old, new)
    return Mutant(getattr(old, "lineno", 0), before, ast.unparse(new), ast.unparse(ast.fix_missing_locations(tree)))


def _walk(parent: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What runs, with what holds it: no messages, types or docstrings."""
    for name, value in ast.iter_fields(parent):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or _unseen(node):
                continue
            yield parent, node
            yield from _walk(node)


def _unseen(node: ast.AST) -> bool:
    if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)):
        return True
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return True
    return isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in UNSEEN


def _changes(node: ast.AST) -> list[ast.AST]:  # noqa: PLR0911, one return per kind of fault
    match node:
        case ast.Compare(left=left, ops=[op], comparators=others) if type(op) in COMPARED:
            return [ast.Compare(left, [COMPARED[type(op)]()], others)]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in CALCULATED and not _text(node):
            return [ast.BinOp(left, CALCULATED[type(op)](), right), left]
        case ast.BoolOp(op=op, values=values):
            return [ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values), values[0]]
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            return [operand]
        case ast.Constant(value=bool() as value):
            return [ast.Constant(not value)]
        case ast.Constant(value=int() | float() as value):
            return [ast.Constant(value + 1)]
        case ast.Call(func=ast.Name(id=name) as func) if name in SWAPPED:
            return [ast.Call(ast.copy_location(ast.Name(SWAPPED[name], func.ctx), func), node.args, node.keywords)]
        case ast.Call(func=ast.Attribute(attr=name) as func) if name in SWAPPED:
            return [ast.Call(ast.Attribute(func.value, SWAPPED[name], func.ctx), node.args, node.keywords)]
        case ast.IfExp(body=body, orelse=other):
            return [body, other]
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            return [ast.Return(ast.Constant(None))]
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in CALCULATED:
            return [ast.AugAssign(target, CALCULATED[type(op)](), value), ast.Pass()]
    return []


def _text(node: ast.AST) -> bool:
    """Whether strings, sequences or types are joined here, which are no numbers."""
    parts = list(ast.walk(node))
    return any(isinstance(part, (ast.List, ast.Tuple, ast.JoinedStr)) for part in parts) or any(
        isinstance(part, ast.Constant) and (part.value is None or isinstance(part.value, str)) for part in parts
    )


def _replace(parent: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for name, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, name, new)
        elif isinstance(value, list) and any(one is old for one in value):
            setattr(parent, name, [new if one is old else one for one in value])
