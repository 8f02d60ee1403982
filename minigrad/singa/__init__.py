"""SINGA's operators and layers under SINGA's names: `autograd.matmul`, `autograd.add_bias`,
`autograd.softmax_cross_entropy`, `autograd.Conv2d`, …

They follow ONNX: operands broadcast in both directions, negative axes count from the end,
`keepdims` is 1 by default, comparisons and logic give booleans. All are thin: the mathematics is
that of `functions` and `nn.functional`. What has no derivative (comparisons, shape, nonzero, cast
to integers, onehot) gives its value, and a result that does not require grad. Two derivatives are
the mathematical ones where SINGA's program has others: that of `erf` in x, and that of
`scatter_elements` in the updates. `autograd.training` switches `dropout`, `batchnorm_2d` and the
layers between training and inference.

Sources: SINGA's documentation and program of `singa.autograd`; the ONNX operator specification for
what they leave open.
"""

from . import elementwise, images, layers, losses, matrices, operation, shapes

NAMES = """
    mean relu less clip identity matmul greater add_bias reshape prelu add equal elu selu softmax
    sum cross_entropy softmax_cross_entropy mse_loss flatten cat conv2d batchnorm_2d pooling_2d tanh
    cos cosh acos acosh sin sinh asin asinh tan atan atanh sigmoid mul unsqueeze transpose abs exp
    leakyrelu sign pow softsign sqrt softplus sub min log hardsigmoid squeeze div shape max _and _or
    _not _xor negative reciprocal gemm constant_of_shape dropout reduce_sum reduce_mean slice ceil
    split gather tile nonzero cast onehot
""".split()
"""The 75 operators of SINGA's documentation, in its order."""
OTHER_NAMES = """
    add_all binary_cross_entropy depth_to_space embedding erf expand floor gradients pad
    ranking_loss round rounde scatter_elements space_to_depth upsample where
""".split()
"""The operators that only SINGA's program has."""
LAYERS_AND_HEADINGS = """
    AvgPool2d BatchNorm2d BatchNormHandle Conv2d ConvHandle CudnnBatchNormHandle CudnnConvHandle
    CudnnPoolingHandle Dropout Equal Layer Linear MaxPool2d MeanSquareError Mul Operation Operator
    Pooling2d PoolingHandle SoftPlus SoftSign constantOfShape cossim globalaveragepool qa_lstm_loss
    reduceMean reduceSum
""".split()
__all__ = [*NAMES, *OTHER_NAMES, *LAYERS_AND_HEADINGS]

for _file in (elementwise, images, layers, losses, matrices, operation, shapes):
    globals().update({name: vars(_file)[name] for name in __all__ if name in vars(_file)})
