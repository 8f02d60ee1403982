"""Programs in files: `name.json` holds the instructions as text to read, `name.npz` the arrays. No
pickle, so loading runs no code.

Everything comes back exactly: numbers by their bits (JSON writes the shortest decimal that reads
back the same; NaN and infinities are spelled out), arrays with their dtype and the order of their
axes in memory, on which the last bits of later sums depend.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import backend, ops
from ..backend import axis_order, copy_in_order, is_immutable, load_arrays, materialise, save_arrays
from ..core.primitive import Primitive, registry
from ..core.tensor import wrap
from ..errors import ProgramError
from .bindings import Binding, NumberBinding, TensorBinding
from .instructions import Instruction, Literal, Ref, Type

if TYPE_CHECKING:
    from .program import Program

FORMAT = "minigrad.program/1"


def save(program: Program, path: Any) -> None:
    """Write `path`.json and `path`.npz. Captured values are saved as they are now. Raises
    ProgramError for parameters that are no data.
    """
    strange = next(
        (
            i.primitive.name
            for i in program.instructions
            if registry.get(i.primitive.name) is not i.primitive
        ),
        None,
    )
    if strange is not None:
        raise ProgramError(
            f"save: {strange} is no operation that a file can name. Save the program as it was"
            " before fused()."
        )
    arrays = _ProgramArrays()
    phases = list(dict.fromkeys(i.phase for i in program.instructions))
    kinds = list(dict.fromkeys(program.types))
    number_of = {kind: i for i, kind in enumerate(kinds)}
    document = {
        "format": FORMAT,
        "name": program.name,
        "types": [[list(k.shape), k.dtype.name, "number" if k.number else k.device] for k in kinds],
        "values": [number_of[k] for k in program.types],
        "names": {str(n): name for n, name in program.names.items()},
        "inputs": program.inputs,
        "captured": [[n, place.name, _put(place, arrays)] for n, place in program.captured.items()],
        "constants": [[n, arrays.put(array)] for n, array in program.constants.items()],
        "phases": phases,
        "instructions": [
            [i.primitive.name, [_encode(o, arrays) for o in i.operands],
                {k: _encode(v, arrays) for k, v in i.params.items()},
             list(i.outputs), phases.index(i.phase)]
            for i in program.instructions
        ],
        "outputs": program.outputs,
        "updates": list(map(list, program.updates.items())),
        "gradients": list(map(list, program.gradients.items())),
        "decisions": program.decisions,
        "signature": _encode(program.signature, arrays),
        "layouts": arrays.layouts,
    }  # fmt: skip
    text, data = _files(path)
    text.write_text(json.dumps(document, allow_nan=False, separators=(",", ":")), encoding="utf-8")
    save_arrays(data, arrays.held)


def read(path: Any, make: type[Program]) -> Program:
    """As `load` in program.py; `make` is the class Program."""
    text, data = _files(path)
    try:
        document = json.loads(text.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ProgramError(f"{text} is no JSON: {error}") from None
    found = document.get("format") if isinstance(document, dict) else None
    if found != FORMAT:
        raise ProgramError(
            f"{text} is of the format {found!r}; this version of minigrad reads {FORMAT!r}."
        )
    try:
        arrays = _ProgramArrays(load_arrays(data), document["layouts"])
        program = _program(document, arrays, make)
    except ProgramError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise ProgramError(f"{text} is malformed: {type(error).__name__}: {error}") from None
    return program.check()


def _program(document: dict[str, Any], arrays: _ProgramArrays, make: type[Program]) -> Program:
    kinds = [
        Type(shape, _dtype(dtype), "cpu" if device == "number" else device, device == "number")
        for shape, dtype, device in document["types"]
    ]
    types = [kinds[i] for i in document["values"]]
    names = {int(n): str(name) for n, name in document["names"].items()}
    captured: dict[int, Any] = {}
    for n, name, key in document["captured"]:
        if types[n].number:
            captured[n] = NumberBinding(name, value=float(_decode(key, arrays)))
            continue
        place = TensorBinding(wrap(backend.to_device(arrays.get(key), types[n].device)), name)
        place.always = True
        captured[n] = place
    instructions = []
    for at, (name, operands, params, outputs, phase) in enumerate(document["instructions"]):
        instructions.append(
            Instruction(
                _primitive(name, at),
                tuple(_decode(o, arrays) for o in operands),
                {k: _decode(v, arrays) for k, v in params.items()},
                tuple(outputs),
                document["phases"][phase],
            )
        )
    return make(
        document["inputs"],
        {
            n: backend.to_device(arrays.get(key), types[n].device)
            for n, key in document["constants"]
        },
        instructions,
        document["outputs"],
        types,
        names,
        captured=captured,
        updates=dict(document["updates"]),
        gradients=dict(document["gradients"]),
        decisions=document["decisions"],
        signature=_decode(document["signature"], arrays),
        name=document["name"],
    )


def _files(path: Any) -> tuple[Path, Path]:
    base = Path(path)
    base = base.with_suffix("") if base.suffix in (".json", ".npz") else base
    return base.with_name(base.name + ".json"), base.with_name(base.name + ".npz")


def _put(place: Binding, arrays: _ProgramArrays) -> Any:
    """A captured value as it is now: the key of an array, or a number."""
    if not isinstance(place, NumberBinding):
        return arrays.put(place.array)
    return _encode(float(place.array), arrays)


def _primitive(name: Any, at: int) -> Primitive:
    found = ops.find(name)
    if found is None:
        raise ProgramError(
            f"instruction {at} is {name!r}, which is no operation of this version of minigrad (nor"
            " of yours, if imported)."
        )
    return found


def _dtype(name: str) -> Any:
    try:
        return backend.bfloat16_dtype() if name == "bfloat16" else backend.numpy.dtype(name)
    except TypeError:
        raise ProgramError(f"there is no dtype {name!r}.") from None


class _ProgramArrays:
    """The arrays of a file by key, with what .npz does not keep: the order of axes in memory,
    and which are bare numbers.
    """

    def __init__(
        self, held: dict[str, Any] | None = None, layouts: dict[str, Any] | None = None
    ) -> None:
        self.held = {} if held is None else held
        self.layouts: dict[str, Any] = {} if layouts is None else layouts

    def put(self, array: Any) -> str:
        """The key under which an array is kept."""
        key = f"a{len(self.held)}"
        host = materialise(backend.to_numpy(array))
        self.layouts[key] = [host.dtype.name, list(axis_order(host)), is_immutable(array)]
        self.held[key] = host.view("uint16") if host.dtype.name == "bfloat16" else host
        return key

    def get(self, key: str) -> Any:
        """The array of a key."""
        dtype, order, number = self.layouts[key]
        array = self.held[key]
        array = array.view(_dtype(dtype)) if dtype == "bfloat16" else array
        array = copy_in_order(backend.numpy, array, tuple(order))
        return array[()] if number else array


# ------------------------------------------------------------------------------ plain data and back


def _encode(value: Any, arrays: _ProgramArrays) -> Any:
    """A parameter or operand as JSON. What JSON lacks is an object with one key that says what
    it is.
    """
    if type(value) is Literal:
        return {"literal": _encode(value.value, arrays)}
    if type(value) is Ref:
        return {"ref": value.number}
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if value - value == 0 else {"float": repr(value)}
    if type(value) is complex:
        return {"complex": [_encode(value.real, arrays), _encode(value.imag, arrays)]}
    if value is Ellipsis:
        return {"ellipsis": True}
    if type(value) is slice:
        return {"slice": [_encode(v, arrays) for v in (value.start, value.stop, value.step)]}
    if type(value) is tuple:
        return {"tuple": [_encode(v, arrays) for v in value]}
    if type(value) is list:
        return [_encode(v, arrays) for v in value]
    if type(value) is dict:
        return {"dict": [[_encode(k, arrays), _encode(v, arrays)] for k, v in value.items()]}
    if isinstance(value, Primitive):
        return {"primitive": value.name}
    if isinstance(value, backend.numpy.dtype):
        return {"dtype": value.name}
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return {"array": arrays.put(value)}
    raise ProgramError(
        f"save: a parameter of the kind {type(value).__name__} is no plain data: {value!r}."
    )


def _decode(value: Any, arrays: _ProgramArrays) -> Any:
    if isinstance(value, list):
        return [_decode(v, arrays) for v in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    match kind:
        case "literal":
            return Literal(_decode(content, arrays))
        case "ref":
            return Ref(content)
        case "float":
            return float(content)
        case "complex":
            return complex(*(_decode(v, arrays) for v in content))
        case "ellipsis":
            return Ellipsis
        case "slice":
            return slice(*(_decode(v, arrays) for v in content))
        case "tuple":
            return tuple(_decode(v, arrays) for v in content)
        case "dict":
            return {_decode(k, arrays): _decode(v, arrays) for k, v in content}
        case "primitive":
            return _primitive(content, -1)
        case "dtype":
            return _dtype(content)
        case "array":
            return arrays.get(content)
    raise ProgramError(f"there is a value of the unknown kind {kind!r}.")
