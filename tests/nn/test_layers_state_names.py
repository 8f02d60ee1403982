"""The names of the state of every layer that both libraries have: keys, shapes, dtypes, order,
registered names.
"""

import pytest

import minigrad as mg

GIVEN = {
    "Linear": [(2, 3), (2, 3, False)],
    "Bilinear": [(2, 3, 4), (2, 3, 4, False)],
    "Embedding": [(4, 3)],
    "EmbeddingBag": [(4, 3)],
    "MultiheadAttention": [
        (4, 2),
        (4, 2, 0.0, False),
        (4, 2, 0.0, True, True),
        (4, 2, 0.0, True, False, False, 3, 5),
    ],
    "Transformer": [(4, 2, 1, 1, 8)],
    "TransformerEncoderLayer": [(4, 2, 8)],
    "TransformerDecoderLayer": [(4, 2, 8)],
    "GroupNorm": [(2, 4), (2, 4, 1e-5, False)],
    "LayerNorm": [(4,), (4, 1e-5, False), (4, 1e-5, True, False)],
    "RMSNorm": [(4,), (4, 1e-5, False)],
    "Unflatten": [(1, (2, 3))],
    "Threshold": [(0.1, 2)],
    "Fold": [((4, 4), 2)],
    "AdaptiveAvgPool1d": [(2,)],
}
COUNTS = {
    1: (
        "Pixel",
        "Channel",
        "Unfold",
        "Local",
        "Max",
        "Avg",
        "Adaptive",
        "Reflection",
        "Replication",
        "Zero",
        "Circular",
    )
}
EXCLUDED = {  # need members, or a member more
    "Module", "Container", "Sequential", "ModuleList", "ModuleDict", "ParameterList",
    "ParameterDict", "TransformerEncoder",
    "TransformerDecoder", "TripletMarginWithDistanceLoss", "FractionalMaxPool2d",
    "FractionalMaxPool3d",
}  # fmt: skip


def arguments(name):
    if name in GIVEN:
        return GIVEN[name]
    if name.startswith(("BatchNorm", "InstanceNorm")):
        return [
            (3,),
            (3, 1e-5, 0.1, True),
            (3, 1e-5, 0.1, False),
            (3, 1e-5, 0.1, True, True),
            (3, 1e-5, 0.1, True, False),
        ]
    if name.startswith("Conv"):
        return (
            [(2, 4, 3)] if name.startswith("ConvT") else [(2, 4, 3), (2, 4, 3, 1, 0, 1, 2, False)]
        )
    if name in ("RNN", "LSTM", "GRU"):
        return [(2, 3), (2, 3, 2)] + ([(2, 3, 2, False, False, 0.0, True)] if name != "RNN" else [])
    if name in ("RNNCell", "LSTMCell", "GRUCell"):
        return [(2, 3), (2, 3, False)]
    if name.startswith(("LPPool", "ConstantPad")):
        return [(1, 2)]
    return [(2,)] if name.startswith(COUNTS[1]) else [()]


def facts(module):
    state = module.state_dict()
    return {
        "state": [
            (name, tuple(t.shape), str(t.dtype).removeprefix("torch.")) for name, t in state.items()
        ],
        "parameters": [name for name, _ in module.named_parameters()],
        "modules": [name for name, _ in module.named_modules()],
        "registered": [sorted(m._parameters) + sorted(m._buffers) for m in module.modules()],
    }


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::UserWarning:torch.*", "ignore::FutureWarning")
def test_states_have_pytorchs_names(torch):
    theirs = {
        n: c
        for n, c in vars(torch.nn).items()
        if isinstance(c, type) and issubclass(c, torch.nn.Module)
    }
    compared, wrong = 0, []
    for name in sorted(theirs.keys() - EXCLUDED):
        if not hasattr(mg.nn, name):
            continue
        compared += 1
        for given in arguments(name):
            mine, other = facts(getattr(mg.nn, name)(*given)), facts(theirs[name](*given))
            wrong += [
                (name, given, what, mine[what], other[what])
                for what in mine
                if mine[what] != other[what]
            ]
    assert wrong == [] and compared >= 125
