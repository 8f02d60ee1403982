"""What a formula computes, by NumPy: its tokens as an expression of Python, in which each function
that formulas name is written down for itself."""

from __future__ import annotations

from typing import Any

import numpy as np

SIGNS = {"·": "*", "−": "-", "=": "==", "≠": "!=", "×": "*", "≤": "<=", "≥": ">="}
Tokens = list[dict[str, Any]]


def computed(
    tokens: Tokens,
    values: dict[str, Any],
    params: dict[str, Any],
    shape: tuple[int, ...],
    more: dict[str, Any] | None = None,
) -> Any:
    """The value of a formula. values: of each node, adjoint and tangent, as `v4`, `v4 bar`,
    `x1 dot`; params: of the operation, for what the formula says in words alone; shape: of the
    result; more: further functions."""
    given = {key.replace(" ", "_"): np.asarray(v) for key, v in values.items()}

    def scatter(part: Any, index: Any, whole: Any, add: bool = False) -> Any:
        out = np.array(np.broadcast_to(whole, shape), np.result_type(whole, part))
        if add:
            np.add.at(out, index, part)
        else:
            out[index] = part
        return out

    words = {"scatter": scatter, "scatter_add": lambda *all: scatter(*all, add=True)}
    known = {**WORDS, **words, **(more or {}), **given, "index": params.get("index"), "at": np.s_}
    return eval(_expression(tokens), {"__builtins__": {}}, known)


def _expression(tokens: Tokens) -> str:
    out = ""
    for i, token in enumerate(tokens):
        kind, text = token["t"], token.get("text", "")
        following = tokens[i + 1] if i + 1 < len(tokens) else {"t": "", "text": ""}
        if kind == "sym":
            out += "_".join([token["node"], *([token["accent"]] if "accent" in token else [])])
            out += ")" if i and tokens[i - 1]["t"] == "fn" else ""
        elif kind == "num":
            out += f"({_number(token['value'])})"
        elif kind == "sup":
            base, exponent = _expression(token["base"]), token["exp"]
            letter = exponent[0].get("text")
            out += (
                f"{letter}({base})"
                if letter in ("T", "H")
                else (f"({base})**({_expression(exponent)})")
            )
        elif kind == "sqrt":
            out += f"sqrt({_expression(token['of'])})"
        elif kind == "fn":
            out += text + ("(" if following["t"] == "sym" else "")
        elif kind == "text":
            out += _words(text, bracketed=bool(i) and tokens[i - 1].get("text") == "[")
        else:
            out += SIGNS.get(text, text)
    return out


def _number(value: Any) -> str:
    if isinstance(value, dict):
        return f"complex_({value['re']}, {value['im']})"
    return repr(float(value)) if isinstance(value, float) else str(value)


def _words(text: str, bracketed: bool) -> str:
    """`axes 0, 1` as a keyword argument, an index as itself."""
    text = text.replace("−", "-").replace("…", "...").strip()
    if bracketed:
        return "index" if "[" in text or " of shape " in text else text
    if text in ("at", "elsewhere"):
        return ", at" if text == "at" else ""
    if not text[:1].isalpha():
        return text
    key, _, given = text.partition(" ")
    key = {"axis": "axes", "shift": "shifts"}.get(key, key)
    return f"{key}={f'({given},)' if key in ('axes', 'shifts') else given or True}"


def _one(axes: Any) -> int:
    return axes if isinstance(axes, int) else axes[0]


def _summed(x: Any, axes: Any = None, keepdims: bool = False, shape: Any = None) -> Any:
    if shape is None:
        return np.sum(x, axis=axes, keepdims=keepdims)
    for _ in range(x.ndim - len(shape)):
        x = x.sum(0)
    ones = tuple(i for i, n in enumerate(shape) if n == 1)
    return x.sum(ones, keepdims=True)


def _padded(x: Any, axes: tuple[int], before: int = 0, after: int = 0) -> Any:
    return np.pad(x, [(before, after) if i in axes else (0, 0) for i in range(x.ndim)])


def _transformed(x: Any, axes: Any, inverse: bool = False, scale: float = 1.0) -> Any:
    if inverse:
        return np.fft.ifftn(x, axes=axes) * (scale * np.prod([x.shape[i] for i in axes]))
    return np.fft.fftn(x, axes=axes) * scale


def _running(a: Any, b: Any, axes: tuple[int]) -> Any:
    a, out = np.moveaxis(a, axes, (0,)), np.moveaxis(np.array(b), axes, (0,))
    for k in range(1, len(out)):
        out[k] += a[k] * out[k - 1]
    return np.moveaxis(out, (0,), axes)


def _sign(x: Any) -> Any:
    return np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x)))


def _transposed(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def _top(x: Any) -> Any:
    """The square of the first rows."""
    return x[..., : x.shape[-1], :]


WORDS: dict[str, Any] = {
    "abs": np.abs, "conj": np.conj, "real": np.real, "imag": np.imag, "sqrt": np.sqrt,
    "ln": np.log, "sin": np.sin, "cos": np.cos, "sinh": np.sinh, "cosh": np.cosh, "e": np.e,
    "i": 1j, "sgn": _sign, "where": np.where, "complex_": complex,
    "complex": lambda a, b: a + 1j * b,
    "sum": _summed, "mean": lambda x, axes: np.mean(x, axis=axes),
    "expand": lambda x, shape: np.broadcast_to(x, shape),
    "unsqueeze": lambda x, axes: np.expand_dims(x, axes),
    "reshape": lambda x, shape=(): np.reshape(x, shape), "permute": np.transpose,
    "flip": lambda x, axes=(): np.flip(x, axes),
    "roll": lambda x, shifts, axes: np.roll(x, shifts, axes),
    "pad": _padded, "T": _transposed, "H": lambda x: np.conj(_transposed(x)),
    "cumsum": lambda x, axes: np.cumsum(x, _one(axes)), "recurrence": _running, "outer": np.outer,
    "tril": lambda x, offset=0: np.tril(x, offset),
    "triu": lambda x, offset=0: np.triu(x, offset), "inv": np.linalg.inv,
    "solve": np.linalg.solve,
    "cofactors": lambda x: _transposed(np.linalg.inv(x)) * np.linalg.det(x)[..., None, None],
    "fft": _transformed, "clone": np.copy, "identity": np.copy, "cast": np.copy,
    "zeros_like": np.zeros_like, "U": lambda y: np.triu(_top(y)),
    "L": lambda y: np.tril(y, -1) + np.eye(*y.shape[-2:]),
    "top": _top, "bottom": lambda x: x[..., x.shape[-1] :, :],
    "vstack": lambda *parts: np.concatenate(parts, -2),
    "reverse_cumsum": lambda x, axes: np.flip(np.cumsum(np.flip(x, axes), _one(axes)), axes),
}  # fmt: skip
