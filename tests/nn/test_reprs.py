"""What a layer shows of itself is what PyTorch shows, setting by setting."""

import pytest

from minigrad import nn
from tests.helpers.tables import in_one_test

LAYERS = [
    "Linear(2, 3)", "Linear(2, 3, bias=False)", "Bilinear(2, 3, 4)",
    "Bilinear(2, 3, 4, bias=False)",
    "Identity(3, a=1)",
    "Embedding(5, 3)", "Embedding(5, 3, padding_idx=-1)",
    "Embedding(5, 3, max_norm=1.0, norm_type=3.0, scale_grad_by_freq=True)",
    "EmbeddingBag(5, 3)", "EmbeddingBag(5, 3, 2.0, 1.0, True, mode='sum', padding_idx=0)",
    "Conv1d(2, 4, 3)",
    "Conv2d(2, 4, 3, stride=2, padding=1, dilation=2, groups=2, bias=False,"
    " padding_mode='circular')",
    "Conv2d(2, 4, (3, 1), padding='same')", "Conv3d(2, 4, 1, padding='valid')",
    "ConvTranspose1d(2, 4, 3)", "ConvTranspose2d(2, 4, 3, 2, 1, 1, 2, False, 3)",
    "ConvTranspose3d(2, 4, 2, output_padding=0)",
    "Unfold(3)", "Unfold((2, 3), 1, 1, 2)", "Fold((4, 5), (2, 2))",
    "MaxPool1d(3)", "MaxPool2d(3, stride=2, padding=1)",
    "MaxPool2d((3, 2), ceil_mode=True, return_indices=True)",
    "MaxPool3d(2, dilation=2)",
    "AvgPool1d(3)", "AvgPool1d(3, 2, 1)", "AvgPool1d([3])", "AvgPool2d(3, stride=2, padding=1)",
    "AvgPool2d((3, 2), count_include_pad=False)", "AvgPool3d(2)",
    "AdaptiveAvgPool1d(3)", "AdaptiveAvgPool2d((3, None))", "AdaptiveAvgPool3d(3)",
    "AdaptiveMaxPool1d(3)",
    "AdaptiveMaxPool2d((3, 2))", "AdaptiveMaxPool3d(1)",
    "MaxUnpool1d(3)", "MaxUnpool2d(3, 2, 1)", "MaxUnpool3d((3, 2, 1))", "LPPool1d(1.5, 2)",
    "LPPool2d(2, (2, 3), stride=1)", "LPPool3d(2, 3)",
    "FractionalMaxPool2d(2, output_size=3)", "FractionalMaxPool3d(2, output_ratio=0.5)",
    "BatchNorm1d(3)", "BatchNorm2d(4)",
    "BatchNorm3d(4, 1e-3, None, affine=False, track_running_stats=False)",
    "BatchNorm2d(4, bias=False)",
    "InstanceNorm1d(3)", "InstanceNorm2d(3, affine=True, track_running_stats=True)",
    "InstanceNorm3d(3, momentum=0.3)",
    "LayerNorm(3)", "LayerNorm((2, 3), 1e-3, elementwise_affine=False)", "LayerNorm(3, bias=False)",
    "GroupNorm(2, 4)", "GroupNorm(2, 4, affine=False)", "GroupNorm(2, 4, bias=False)", "RMSNorm(3)",
    "RMSNorm((2, 3), 1e-3, False)",
    "LocalResponseNorm(2)", "LocalResponseNorm(2, 1e-3, 0.5, 2.0)",
    "Dropout()", "Dropout1d(0.2)", "Dropout2d(0.2, True)", "Dropout3d(inplace=True)",
    "AlphaDropout()",
    "FeatureAlphaDropout()",
    "Flatten()", "Flatten(0, 2)", "Unflatten(1, (2, 3))", "PixelShuffle(2)", "PixelUnshuffle(2)",
    "ChannelShuffle(2)",
    "Upsample(4)", "Upsample(scale_factor=2)",
    "Upsample(scale_factor=(2, 3), mode='bilinear', align_corners=True)",
    "UpsamplingNearest2d(scale_factor=2)", "UpsamplingBilinear2d((4, 5))", "CosineSimilarity(2)",
    "PairwiseDistance(1.0)",
    *(
        f"{kind}Pad{axes}d({padding})"
        for kind in ("Zero", "Reflection", "Replication", "Circular")
        for axes in (1, 2, 3)
        for padding in (2, [1] * 2 * axes)
    ),
    "ConstantPad1d(2, 3)", "ConstantPad2d((1, 2, 3, 4), 3.5)", "ConstantPad3d(-1, 0)",
    "PReLU()", "PReLU(3)", "RReLU()", "RReLU(0.1, 0.2, True)", "ReLU()", "ReLU(True)", "ReLU6()",
    "LeakyReLU()",
    "LeakyReLU(0.1, inplace=True)", "ELU()",
    "ELU(2.0, True)", "SELU()", "SELU(inplace=True)", "CELU()", "GELU()", "GELU('tanh')", "SiLU()",
    "Mish()",
    "Mish(inplace=True)", "Threshold(0.1, 20)",
    "Threshold(0.1, 20.0, True)", "Softplus()", "Softplus(2, 3)", "Softsign()", "Sigmoid()",
    "LogSigmoid()",
    "Hardsigmoid()", "Hardsigmoid(True)",
    "Hardswish()", "Hardswish(inplace=True)", "Tanh()", "Tanhshrink()", "Hardtanh()",
    "Hardtanh(-2, 2, inplace=True)",
    "Softshrink()", "Softshrink(0.1)",
    "Hardshrink()", "Softmax(1)", "LogSoftmax(dim=-1)", "Softmin(0)", "Softmax2d()", "GLU()",
    "GLU(0)",
    "RNN(2, 3)", "RNN(2, 3, 2, nonlinearity='relu', bias=False)",
    "LSTM(2, 3, proj_size=2, num_layers=2, dropout=0.5)",
    "GRU(2, 3, batch_first=True, bidirectional=True)", "RNNCell(2, 3)",
    "RNNCell(2, 3, False, 'relu')",
    "LSTMCell(2, 3, bias=False)", "GRUCell(2, 3)",
    "MultiheadAttention(4, 2)", "MultiheadAttention(4, 2, 0.1, bias=False, kdim=3, vdim=3)",
    "TransformerEncoderLayer(4, 2, 8)",
    "TransformerDecoderLayer(4, 2, 8, 0.3)", "Transformer(4, 2, 1, 2, 8)",
    "MSELoss()", "L1Loss(reduction='sum')", "SmoothL1Loss(beta=2.0)", "HuberLoss(delta=0.5)",
    "BCELoss()",
    "BCEWithLogitsLoss()", "NLLLoss(ignore_index=1)",
    "CrossEntropyLoss(label_smoothing=0.1)", "KLDivLoss(log_target=True)", "CTCLoss(1)",
    "TripletMarginLoss(2.0)",
    "GaussianNLLLoss(full=True)",
]  # fmt: skip


@pytest.mark.oracle
@in_one_test
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.filterwarnings("ignore")
def test_a_layer_shows_its_settings_as_pytorch_does(torch, layer: str) -> None:
    ours, theirs = eval(f"nn.{layer}", {"nn": nn}), eval(f"nn.{layer}", {"nn": torch.nn})
    assert [(name, m.extra_repr()) for name, m in ours.named_modules()] == [
        (name, m.extra_repr()) for name, m in theirs.named_modules()
    ]


def test_buffers_of_a_loss_are_not_shown() -> None:
    weight = nn.Linear(1, 2).weight.detach().reshape(2)
    assert (
        nn.CrossEntropyLoss(weight).extra_repr()
        == nn.BCEWithLogitsLoss(pos_weight=weight).extra_repr()
        == ""
    )


@pytest.mark.oracle
def test_every_module_with_settings_is_compared(torch) -> None:
    """A new layer cannot be forgotten here: each one of PyTorch's that there is has a line, or a
    reason.
    """
    elsewhere = {
        "Module",
        "Sequential",
        "ModuleList",
        "ModuleDict",
        "ParameterList",
        "ParameterDict",
        "TransformerEncoder",
        "TransformerDecoder",
    }
    ours = {
        n
        for n in dir(nn)
        if isinstance(getattr(nn, n), type)
        and issubclass(getattr(nn, n), nn.Module)
        and hasattr(torch.nn, n)
    }
    listed = {layer.partition("(")[0] for layer in LAYERS}
    plain = {
        n for n in ours - listed if getattr(torch.nn, n).extra_repr is torch.nn.Module.extra_repr
    }
    assert ours - listed - elsewhere - plain == set()
    assert all(getattr(nn, n).extra_repr is nn.Module.extra_repr for n in plain - elsewhere)
