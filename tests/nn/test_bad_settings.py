"""Layers and losses refuse wrong settings and inputs in words of their own, and what PyTorch
refuses with an exception of the same kind.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad import autograd, nn
from minigrad.nn import functional as F
from tests.helpers.refusals import refusals, refuse, wrong_calls
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import equal, normal

AS_PYTORCH = r"""
nn.RNN(3, 4, bias=1)  # TypeError: RNN: bias must be True or False
nn.GRU(3, 4, batch_first=1)  # TypeError: GRU: batch_first must be True or False
nn.LSTM(0, 4)  # ValueError: LSTM: sizes must be positive, got input_size=0
nn.RNN(3, 0)  # ValueError: RNN: sizes must be positive
nn.GRU(3, 4, 0)  # ValueError: num_layers=0
nn.GRU(3, 1.5)  # TypeError: GRU: hidden_size must be a whole number
nn.LSTM(3., 2)  # TypeError: LSTM: input_size must be a whole number
nn.RNN(3, 2, 2, dropout=2)  # ValueError: RNN: dropout is a probability
nn.RNN(3, 2, 2, dropout=True)  # ValueError: RNN: dropout is a probability
nn.RNN(4, 2)(z(2, 3, 4, dtype=m.float64))  # ValueError: RNN: the input's dtype float64
nn.GRU(4, 2)(z(2, 3, 4, dtype=m.int64))  # ValueError: GRU: the input's dtype int64
nn.RNN(4, 2)(z(2, 3, 4), z(1, 2))  # ShapeError: RNN: the state must be
nn.RNN(4, 2)(z(2, 4), z(1, 1, 2))  # ShapeError: RNN: the state must be
nn.GRU(4, 2)(z(2, 3, 4), z(1, 2, 2))  # ShapeError: GRU: the state must be
nn.LSTM(4, 2)(z(2, 3, 4), (z(1, 2), z(1, 2)))  # ShapeError: LSTM: the state must be
nn.RNN(4, 2)(z(2, 3, 4), z(1, 3, 2, dtype=m.float64))
    # DTypeError: RNN: inputs and states must have the dtype of the weights, float32
nn.RNNCell(4, 2)(z(2, 3, 4))  # ShapeError: RNNCell: input must be
nn.GRUCell(4, 2)(z(2, 3))
    # ShapeError: GRUCell: input must be \(N, 4\) or \(4,\), got shape \(2, 3\)
nn.RNNCell(4, 2)(m.tensor(1.0))  # ShapeError: RNNCell: input must be
nn.RNNCell(4, 2)(z(3, 4), z(2, 2))  # ShapeError: each state must have shape
nn.GRUCell(4, 2)(z(3, 4), z(3, 3))  # ShapeError: each state must have shape
nn.RNNCell(4, 2)(z(3, 4), z(3, 1, 2))  # ShapeError: each state must have shape
nn.RNNCell(4, 2)(z(3, 4), z(2))  # ShapeError: each state must have shape
nn.RNNCell(4, 2)(z(4), z(1, 2))  # ShapeError: each state must have shape
nn.RNNCell(4, 2)(z(3, 4, dtype=m.float64))
    # DTypeError: RNNCell: inputs and states must have the dtype
nn.LSTMCell(4, 2)(z(3, 4), (z(3, 2), z(3, 3)))  # ShapeError: LSTMCell: for input
nn.LSTMCell(4, 2)(z(3, 4), z(3, 2))  # TypeError: LSTMCell: the state is a pair
nn.BatchNorm1d(3, eps=0.0)(z(2, 3, 4))  # ValueError: batch_norm: eps must be positive in training
F.batch_norm(z(2, 3), None, None, training=True, eps=-1.0)
    # ValueError: batch_norm: eps must be positive in training
F.cross_entropy(z(2, 3), z(2, 3), ignore_index=1)
    # DTypeError: cross_entropy: ignore_index=1 names a class
nn.HuberLoss(delta=1j)  # TypeError: HuberLoss: delta must be a real number
F.huber_loss(z(2), z(2), delta=1j)  # TypeError: huber_loss: delta must be a real number
F.smooth_l1_loss(z(2), z(2), beta=1j)  # TypeError: smooth_l1_loss: beta must be a real number
nn.CircularPad1d(1)(z(2, 3, 4, 5))
    # ShapeError: circular padding of 1d layers: input must have 2 or 3 dimensions
nn.ReflectionPad2d(1)(z(4, 5))
    # ShapeError: reflect padding of 2d layers: input must have 3 or 4 dimensions
nn.ReplicationPad1d(1)(z(5))  # ShapeError: replicate padding
nn.ConvTranspose1d(2, 2, 3, padding_mode='circular')
    # ValueError: ConvTranspose1d: padding_mode must be "zeros"
nn.ConvTranspose1d(2, 2, 3, stride=2)(z(1, 2, 4), output_size=[8])
    # ValueError: output_size must lie from \[9\] to \[10\], got \[8\]
nn.ConvTranspose1d(2, 2, 3, stride=2)(z(1, 2, 4), output_size=[11])
    # ValueError: output_size must lie
nn.ConvTranspose1d(2, 2, 3, stride=2)(z(1, 2, 4), output_size=[2, 9])
    # ValueError: output_size must have 1 numbers
nn.ConvTranspose1d(2, 2, 3, stride=2)(z(1, 2, 4), output_size=9)  # TypeError
F.mse_loss(z(2, 3), z(2, 3), weight=z(3))
    # ShapeError: mse_loss: weight must have the shape of input
F.l1_loss(z(2, 3), z(2, 3), weight=z(3))  # ShapeError: l1_loss: weight
F.huber_loss(z(2, 3), z(2, 3), weight=z(3))  # ShapeError: huber_loss: weight
F.margin_ranking_loss(z(3), z(3, 1), z(3))  # ShapeError: input1 \(3,\), input2 \(3, 1\)
F.triplet_margin_loss(z(3, 4), z(3, 4), z(4))
    # ShapeError: triplet_margin_loss: all must have the same
F.pad(z(1, 2), (1.5, 1))  # TypeError: pad: the numbers of elements must be whole numbers
F.cosine_embedding_loss(z(5, 3), z(5, 3), z(5, 1))  # ShapeError: got inputs of shape
F.cosine_embedding_loss(z(3), z(3), z(3))  # ShapeError: got inputs of shape
F.cosine_embedding_loss(z(5, 3), z(5, 3), z(()))  # ShapeError: got inputs of shape
F.interpolate(z(1, 1, 4), size=(2.5,))  # TypeError: interpolate: size must be whole numbers
F.max_pool1d(z(1, 1, 4), (2.5,))  # TypeError: max_pool1d: kernel_size must be whole numbers
nn.utils.parametrizations.orthogonal(nn.Linear(3, 4)).__setattr__('weight', z(5, 5))
    # ShapeError: orthogonal: the weight has shape \(4, 3\)
F.fractional_max_pool3d(z(2, 6, 6, 6), 2, 3, _random_samples=z(2, 3))
    # ShapeError: _random_samples must have the shape
F.fractional_max_pool3d(z(3, 2, 6, 6, 6), 2, 3, _random_samples=z(1, 2, 3))
    # ShapeError: _random_samples must have the shape
"""
FUNCTIONS = r"""
F.gaussian_nll_loss(mg.zeros(3, 1), mg.zeros(3), 1.0)
    # ShapeError: gaussian_nll_loss: input of shape \(3, 1\) and target of shape \(3,\) must
F.poisson_nll_loss(mg.zeros(3), mg.zeros(3, 1))
    # ShapeError: poisson_nll_loss: input of shape \(3,\) and target of shape \(3, 1\) must
F.kl_div(mg.zeros(3, 1), mg.zeros(3))
    # ShapeError: kl_div: input of shape \(3, 1\) and target of shape \(3,\) must
F.hinge_embedding_loss(mg.zeros(3, 1), mg.zeros(3))
    # ShapeError: hinge_embedding_loss: input of shape \(3, 1\) and target of shape \(3,\) must
F.conv2d(mg.zeros(1, 3, 5, 5), mg.zeros(4, 2, 3, 3))  # ShapeError: conv2d.*channels
F.conv2d(mg.zeros(1, 3, 5, 5), mg.zeros(4, 3, 7, 7))  # ShapeError: larger than
F.conv2d(mg.zeros(5, 5), mg.zeros(4, 3, 7, 7))  # ShapeError: dimensions
F.conv2d(mg.zeros(1, 3, 5, 5), mg.zeros(4, 3, 3, 3), mg.zeros(3))  # ShapeError: bias
F.conv2d(mg.zeros(1, 3, 5, 5), mg.zeros(4, 3, 3, 3), stride=2, padding="same")  # ValueError: same
F.conv2d(mg.zeros(1, 3, 5, 5), mg.zeros(4, 3, 3, 3), stride=0)  # ValueError: stride
F.conv_transpose2d(mg.zeros(1, 3, 5, 5), mg.zeros(3, 3, 3, 3), output_padding=1)
    # ValueError: output_padding
F.max_pool2d(mg.zeros(1, 1, 5, 5), 2, padding=2)  # ValueError: half
F.avg_pool2d(mg.zeros(1, 1, 2, 2), 3)  # ShapeError: larger than
F.max_pool2d(mg.zeros(2, 2), 1)  # ShapeError: dimensions
F.cross_entropy(mg.zeros(2, 4), mg.tensor([0, 1, 2]))  # ShapeError: cross_entropy
F.cross_entropy(mg.zeros(2, 4), mg.tensor([0.0, 1.0]))  # DTypeError: integers
F.mse_loss(mg.zeros(2), mg.zeros(2), "average")  # ValueError: reduction
F.mse_loss(mg.zeros(2, 1), mg.zeros(2))  # ShapeError: mse_loss
F.cross_entropy(mg.zeros(2, 4), mg.tensor([0, 4]))  # IndexError: cross_entropy
F.cross_entropy(mg.zeros(2, 4), mg.tensor([-1, 0]))  # IndexError: cross_entropy
F.embedding(mg.tensor([0.0]), mg.zeros(5, 3))  # DTypeError: embedding
F.embedding(mg.tensor([0]), mg.zeros(5, 3), padding_idx=5)  # IndexError: padding_idx
F.linear(mg.zeros(2, 3), mg.zeros(4, 2))  # ShapeError: linear
F.embedding(mg.tensor([5]), mg.zeros(5, 3))  # IndexError: embedding
F.embedding(mg.tensor([-1]), mg.zeros(5, 3))  # IndexError: embedding
F.batch_norm(mg.zeros(1, 3), training=True)  # ValueError: more than one value
F.scaled_dot_product_attention(H, H[:, :2], H, enable_gqa=True)  # ShapeError: multiple
F.scaled_dot_product_attention(*[H[0, 0]] * 3, enable_gqa=True)  # ShapeError: third axis
F.adaptive_max_pool2d(mg.zeros(1, 1, 0, 4), 2)
    # ShapeError: adaptive_max_pool2d: an input of shape .* has no elements along axis 2
F.adaptive_avg_pool2d(mg.zeros(1, 1, 4, 4), (2,))
    # ValueError: adaptive_avg_pool2d: output_size must be one number or 2
F.channel_shuffle(mg.zeros(1, 4, 2), 0)  # ShapeError: channel_shuffle: .* 0 groups
F.group_norm(mg.zeros(1, 4, 2), 0)  # ShapeError: group_norm: .* 0 groups
F.conv_transpose2d(mg.zeros(1, 1, 2, 2), mg.zeros(1, 1, 2, 2), groups=0)
    # ShapeError: conv_transpose2d: .* 0 groups
F.pixel_shuffle(mg.zeros(4, 4), 2)
    # ShapeError: pixel_shuffle: input must have at least 3 dimensions
F.pixel_unshuffle(mg.zeros(1, 4, 4), 0)
    # ValueError: pixel_unshuffle: the factor must be at least 1, got 0
F.unfold(mg.zeros(4, 4), 2)  # ShapeError: unfold: input must have 4 dimensions
F.glu(mg.tensor(1.0))  # ShapeError: glu: input must have at least 1 dimension
F.local_response_norm(mg.zeros(3), 2)
    # ShapeError: local_response_norm: input must have at least 2 dimensions
F.local_response_norm(mg.zeros(2, 3), 0)  # ValueError: local_response_norm: size must be at least 1
F.scaled_dot_product_attention(*[mg.zeros(3)] * 3)
    # ShapeError: scaled_dot_product_attention: query
F.bilinear(mg.zeros(2, 3), mg.zeros(2, 4), mg.zeros(5, 3, 3))
    # ShapeError: bilinear: inputs of shapes
F.multilabel_margin_loss(mg.zeros(2, 3), mg.zeros(2, 3))
    # DTypeError: multilabel_margin_loss: .* must be integers
F.multilabel_margin_loss(mg.zeros(1, 2), mg.tensor([[2, -1]]))
    # IndexError: multilabel_margin_loss: class 2 is out of
F.multi_margin_loss(mg.zeros(2, 3), mg.tensor([0, 5]))
    # IndexError: multi_margin_loss: class 5 is out of range
F.max_unpool1d(mg.zeros(1, 1, 2), mg.zeros(1, 1, 2), 2)
    # DTypeError: max_unpool1d: indices must be integers
F.rms_norm(mg.tensor([1, 2]), (2,))  # DTypeError: rms_norm: needs a floating dtype, got int64
F.layer_norm(mg.zeros(2, 3), 3, mg.zeros(2))
    # ShapeError: layer_norm: weight must have shape \(3,\), got \(2,\)
F.batch_norm(mg.zeros(2, 3), mg.zeros(2), mg.ones(3))
    # ShapeError: batch_norm: running_mean must have shape
F.instance_norm(mg.zeros(2, 3, 4), weight=mg.zeros(4))
    # ShapeError: instance_norm: weight must have shape
F.group_norm(mg.zeros(2, 4), 2, bias=mg.zeros(2))  # ShapeError: group_norm: bias must have shape
F.pad(mg.zeros(2, 3), (0, 0), mode="edge")  # ValueError: pad: mode must be .* got 'edge'
F.lp_pool2d(mg.zeros(2, 2), 2, 2)  # ShapeError: lp_pool2d: input must have
F.alpha_dropout(mg.zeros(2), 2.0)  # ValueError: alpha_dropout: p is a probability, got 2.0
F.dropout2d(mg.zeros(2, 2, 2), -1)  # ValueError: dropout2d: p is a probability, got -1
F.dropout(mg.ones(2), 1.5)  # ValueError: probability
F.binary_cross_entropy(mg.tensor([1.5]), mg.tensor([1.0]))  # RuntimeError: with_logits
F.pad(mg.zeros(1, 1, 3), (3, 0), "reflect")  # ValueError: reflect
F.interpolate(IMAGE, size=3, mode="linear")
    # ValueError: mode "linear" needs an input of 3 dimensions .* got shape \(1, 1, 4, 4\)
F.interpolate(IMAGE, size=3, mode="cubic")
    # ValueError: mode must be one of nearest, .* got 'cubic'
F.interpolate(IMAGE, size=3, align_corners=True)
    # ValueError: align_corners means nothing for mode "nearest"
F.interpolate(IMAGE, size=3, scale_factor=2)  # ValueError: give either size or scale_factor
F.interpolate(IMAGE)  # ValueError: give either size or scale_factor
F.interpolate(IMAGE, scale_factor=(1, 2, 3))  # ValueError: scale_factor must be one number or 2
F.interpolate(IMAGE, scale_factor=0.1)  # ValueError: nothing is left of \(4, 4\) times 0.1
F.interpolate(IMAGE.long(), 5, mode="bilinear")  # DTypeError: floating dtype or uint8
F.instance_norm(X)  # ShapeError: one more axis
F.instance_norm(X.reshape(4, 5, 1))  # ValueError: more than one spatial
F.multi_margin_loss(X, mg.tensor([1, 2]))  # ShapeError: integers \(N,\)
F.soft_margin_loss(X, X[0])  # ShapeError: same shape
F.pdist(X[0])  # ShapeError: needs a matrix
F.pixel_shuffle(X.reshape(5, 2, 2), 2)  # ShapeError: channels
F.pixel_unshuffle(X.unsqueeze(0), 3)  # ShapeError: squares of 3
F.channel_shuffle(X.unsqueeze(2), 2)  # ShapeError: 2 groups
F.max_unpool1d(X, mg.zeros(4, 5).long() + 99, 2)  # IndexError: out of range
F.max_unpool1d(X, mg.zeros(4, 5).long(), 2, output_size=(12,))
    # ShapeError: by less than the stride
F.affine_grid(X, (4, 1, 2, 2))  # ShapeError: affine_grid: needs theta
F.grid_sample(X[None, None], X[None, :, :, None])  # ShapeError: grid_sample: needs images
F.grid_sample(X[None, None], X[None, :, :2, None].transpose(2, 3), "area")
    # ValueError: mode must be
F.grid_sample(X[None, None, None], X[None, None, :, None, :3], "bicubic")
    # ValueError: not for volumes
F.grid_sample(X[None, None], X[None, :, :2, None].transpose(2, 3), "bicubic", "mirror")
    # ValueError: padding_mode
F.linear_cross_entropy(X, X[:, :3], mg.zeros(4).long())  # ShapeError: linear_weight
F.linear_cross_entropy(X, X, mg.zeros(4).long(), linear_bias=X)  # ShapeError: linear_bias must have
F.linear_cross_entropy(X, X, X[:, :4], ignore_index=2)  # ValueError: probabilities
F.multi_head_attention_forward(X, X, X, 4, 2, mg.zeros(12, 4).double(), None, None, None, False,
    0.0, X, None)
    # ShapeError: widths
F.multi_head_attention_forward(X, X, X, 5, 2, mg.zeros(15, 5).double(), None, None, None, False,
    0.0, X, None)
    # ShapeError: num_heads=2
F.multi_head_attention_forward(X, X, X, 5, 1, mg.zeros(15, 5).double(), None, None, None, False,
    0.0, X, None, is_causal=True)
    # ValueError: attn_mask
F.embedding_bag(mg.tensor([0, 9]), X, mg.tensor([0]))  # IndexError: embedding_bag: index 9
F.embedding_bag(mg.tensor([0.0]), X, mg.tensor([0]))  # DTypeError: embedding_bag: indices
F.embedding_bag(mg.tensor([0]), X, mg.tensor([0.0]))  # DTypeError: embedding_bag: offsets
F.embedding_bag(mg.tensor([0]), X)  # ValueError: need offsets
F.embedding_bag(mg.tensor([[0]]), X, mg.tensor([0]))  # ValueError: take none
F.embedding_bag(mg.tensor([0, 1]), X, mg.tensor([1]))  # ValueError: must begin with 0
F.embedding_bag(mg.tensor([0, 1]), X, mg.tensor([0, 2, 1]))  # ValueError: ascend
F.embedding_bag(mg.tensor([0, 1]), X, mg.tensor([0, 3]))  # ValueError: at most 2
F.embedding_bag(mg.tensor([0]), X, mg.tensor([]).long(), include_last_offset=True)
    # ShapeError: bags
F.embedding_bag(mg.tensor(0), X)  # ShapeError: needs indices
F.embedding_bag(mg.tensor([[0]]), X[0])  # ShapeError: needs indices
F.embedding_bag(mg.tensor([[0]]), X, mode="amax")  # ValueError: mode must be
F.embedding_bag(mg.tensor([[0]]), X, mode="max", scale_grad_by_freq=True)
    # ValueError: scale_grad_by_freq
F.embedding_bag(mg.tensor([[0]]), X, sparse=True)  # NotImplementedError: dense
F.embedding_bag(mg.tensor([[0]]), X, padding_idx=4)  # IndexError: padding_idx 4
F.embedding_bag(mg.tensor([[0]]), X, per_sample_weights=X[:1, :1])
    # NotImplementedError: per_sample_weights
F.embedding_bag(mg.tensor([[0]]), X, mode="sum", per_sample_weights=X[0])
    # ShapeError: shape of the indices
F.embedding_bag(mg.tensor([[0]]), X, mode="sum", per_sample_weights=X[:1, :1].float())
    # DTypeError: dtype of weight
F.fractional_max_pool2d(X, 2, 2)  # ShapeError: fractional_max_pool2d: input must have 4
F.fractional_max_pool2d(X[None], 2)  # ValueError: one of the two
F.fractional_max_pool2d(X[None], 2, 2, 0.5)  # ValueError: one of the two
F.fractional_max_pool2d(X[None], 2, output_ratio=1.5)  # ValueError: between 0 and 1
F.fractional_max_pool2d(X[None], 0, 2)  # ValueError: kernel_size must be at least 1
F.fractional_max_pool2d(X[None], 2, output_ratio=0.1)  # ValueError: output_size must be at least 1
F.fractional_max_pool2d(X[None], 3, 3)  # ShapeError: at most the axis plus 1
F.fractional_max_pool2d(X[None].long(), 2, 2)  # DTypeError: floating
F.fractional_max_pool2d(X[None], 2, 2, _random_samples=X)
    # ShapeError: must have the shape \(1, 1, 2\)
F.ctc_loss(X.unsqueeze(1), mg.tensor([[1]]), mg.tensor([9]), mg.tensor([1]))
    # ShapeError: input_lengths must be 1 lengths from 0 to 4
F.ctc_loss(X.unsqueeze(1), mg.tensor([[1]]), [4.0], [1])
    # DTypeError: input_lengths must be integers
F.ctc_loss(X.unsqueeze(1), mg.tensor([[1]]), [4], [-1])
    # ShapeError: target_lengths must be 1 lengths from 0 to 1
F.ctc_loss(X.unsqueeze(1), mg.tensor([1, 2]), [4], [1])
    # ShapeError: 2 targets one after the other do not fit
"""
LAYERS = r"""
nn.Linear(3)  # TypeError: in_dim
nn.Conv2d(3, 4, 1, groups=2)  # ValueError: groups
nn.Module()(1)  # NotImplementedError: forward
nn.BatchNorm2d(3)(mg.zeros(2, 4, 5, 5))  # ShapeError: BatchNorm2d
nn.Softmax(axis=1)  # TypeError: Softmax
nn.LSTM(3, 4)(mg.zeros(5, 2, 4))  # ShapeError: LSTM
nn.Transformer(8, 2, 1, 1, 16).decoder(mg.zeros(3, 2, 8), mg.zeros(5, 2, 8), tgt_is_causal=True)
    # ValueError: tgt_is_causal is a hint about tgt_mask, which must be given too
nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), "two")
    # ValueError: num_layers must be a whole number from 0 on, got 'two'
nn.TransformerDecoderLayer(8, 2, activation="rleu")
    # ValueError: TransformerDecoderLayer: activation must be
nn.Transformer(8, 2, 1, 1, 16)(mg.zeros(5, 2, 8), mg.zeros(3, 2, 6))
    # ShapeError: Transformer: src and tgt must have .* 8 features \(d_model\), got shapes
nn.Conv2d(1, 1, 3, stride=2, padding="same")
    # ValueError: Conv2d: padding="same" needs stride 1, got \(2, 2\)
nn.Conv1d(1, 1, 3, padding="full")  # ValueError: Conv1d: padding must be numbers, "same" or "valid"
nn.ConvTranspose2d(1, 1, 3, padding="same")
    # ValueError: ConvTranspose2d: padding must be one number or 2, got 'same'
nn.Transformer(8, 2, 1, 1, 16)(mg.zeros(5, 2, 8), mg.zeros(3, 1, 8))  # ShapeError: src and tgt
nn.Transformer(8, 2, 1, 1, 16)(mg.zeros(5, 8), mg.zeros(3, 2, 8))  # ShapeError: src and tgt
nn.init.dirac_(mg.ones(2))  # ShapeError: 3 to 5 dimensions
nn.init.dirac_(mg.ones(4, 3, 3), 5)  # ValueError: groups=5 does not divide
nn.init.sparse_(mg.ones(3), 0.5)  # ShapeError: needs a matrix
nn.Embedding(3, 2, padding_idx=3)  # IndexError: Embedding: padding_idx 3 is not one of 3 rows
nn.Embedding(3, 2, padding_idx=-4)  # IndexError: Embedding: padding_idx -4 is not one of 3 rows
nn.EmbeddingBag(3, 2, padding_idx=3)  # IndexError: EmbeddingBag: padding_idx 3 is not one of 3 rows
nn.EmbeddingBag(3, 2, padding_idx=-4)  # IndexError: EmbeddingBag: padding_idx -4 is not
nn.Embedding.from_pretrained(mg.zeros(3))  # ShapeError: embeddings must be a matrix
nn.EmbeddingBag.from_pretrained(mg.zeros(3))  # ShapeError: embeddings must be a matrix
nn.Embedding.from_pretrained(mg.zeros(3, 2), sise=1)  # TypeError: from_pretrained.. got
nn.Embedding(3, 2, sparse=True)  # NotImplementedError: dense
nn.Sequential(nn.ReLU(), 3)  # TypeError: cannot be called
nn.utils.rnn.pack_padded_sequence(PADDED, [1, 2])  # ValueError: enforce_sorted=False
nn.utils.rnn.pack_padded_sequence(PADDED, [3, 0])  # ValueError: between 1 and 3
nn.utils.rnn.pack_padded_sequence(PADDED, [4, 1])  # ValueError: between 1 and 3
nn.utils.rnn.pack_padded_sequence(PADDED, [3])  # ValueError: 2 sequences
nn.utils.parametrizations.orthogonal(nn.Linear(2, 2), "bias")  # ValueError: has no matrix 'bias'
nn.utils.parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="qr")
    # ValueError: orthogonal_map is one of
nn.ModuleDict({"a": 1})  # TypeError: ModuleDict: 'a' is int, not a Module
nn.ModuleDict({"a.b": nn.ReLU()})  # KeyError: a name is not empty and has no dot
nn.ModuleDict({"a": nn.ReLU()})["b"]  # KeyError: no member 'b'; it has a
nn.ParameterDict()["b"]  # KeyError: it has none
"""
SINGA = r"""
autograd.add_bias(mg.zeros(3, 4), mg.zeros(3))  # ShapeError: add_bias
autograd.add_bias(mg.zeros(3, 4), mg.zeros(4), axis=2)  # ValueError: axis
autograd.gemm(mg.zeros(3, 4), mg.zeros(4, 2), mg.zeros(3))  # ShapeError: gemm
autograd.softmax_cross_entropy(mg.zeros(3, 4), mg.zeros(2))  # ShapeError: targets
autograd.squeeze(mg.zeros(3, 4), [0])  # ShapeError: squeeze
autograd.unsqueeze(mg.zeros(3), [0, -3])  # ValueError: twice
autograd.tile(mg.zeros(3), [-1])  # ValueError: tile
autograd.globalaveragepool(mg.zeros(3, 4))  # ShapeError: globalaveragepool
autograd.slice(mg.zeros(3), [0], [3], [0], [0])  # ValueError: step
autograd.softmax_cross_entropy(mg.zeros(1, 4), mg.tensor([0.5]))  # ValueError: whole
autograd.add_all()  # ValueError: add_all
autograd.pad(X, "mirror", [0, 0, 0, 0])  # ValueError: mode
autograd.pad(X, "edge", [1, 1])  # ShapeError: axes
autograd.pad(X[:0], "reflect", [1, 0, 0, 0])  # ShapeError: 0 elements
autograd.pad(X, "edge", [-4, 0, 0, 0])  # ShapeError: does not fit
autograd.pad(X, "edge", [-4, 0, 3, 0])  # ShapeError: does not fit
autograd.upsample(X, "linear", [1, 1])  # ValueError: nearest
autograd.upsample(X, "nearest", [1, 1.5])  # ShapeError: whole
autograd.upsample(X, "nearest", [2])  # ShapeError: each axis
autograd.depth_to_space(X, 2)  # ShapeError: axes
autograd.depth_to_space(mg.zeros(1, 6, 2, 2), 2)  # ShapeError: channels
autograd.depth_to_space(mg.zeros(1, 4, 2, 2), 0)  # ValueError: blocksize
autograd.space_to_depth(mg.zeros(1, 6, 2, 3), 2)  # ShapeError: 2 by 3
autograd.space_to_depth(mg.zeros(1, 4, 2, 2), 2, "RCD")  # ValueError: DCR
autograd.scatter_elements(X, [[0, 1]], [[1.0]])  # ShapeError: same shape
autograd.scatter_elements(X, [[3]], [[1.0]])  # IndexError: 3
autograd.ranking_loss(X, X[0])  # ShapeError: same shape
autograd.binary_cross_entropy(X, X[0])  # ShapeError: same shape
autograd.expand(X, [2, 4])  # ShapeError: 4
"""
test_functions_refuse_wrong_arguments = refusals(
    FUNCTIONS,
    X=mg.tensor(normal(4, 5)),
    H=mg.ones(1, 3, 2, 2),
    IMAGE=mg.ones(1, 1, 4, 4),
)
test_layers_refuse_wrong_settings = refusals(LAYERS, PADDED=mg.ones(3, 2, 1))
test_operators_of_singa_refuse_wrong_arguments = refusals(SINGA, autograd=autograd, X=mg.ones(3, 4))
test_refused_as_in_pytorch_in_words_of_their_own = refusals(AS_PYTORCH, z=mg.zeros, m=mg)


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize(("statement", "answer"), wrong_calls(AS_PYTORCH))
def test_the_kind_of_exception_is_that_of_pytorch(torch, statement: str, answer: str) -> None:
    names = {"nn": torch.nn, "F": torch.nn.functional, "z": torch.zeros, "m": torch}
    with pytest.raises(Exception) as caught:
        exec(statement, names)
    ours, theirs = refuse(statement, answer, z=mg.zeros, m=mg), caught.value
    assert isinstance(ours, type(theirs)) or (
        type(theirs) is NotImplementedError and isinstance(ours, RuntimeError)
    )


@pytest.mark.parametrize("library", ["minigrad", pytest.param("torch", marks=pytest.mark.oracle)])
def test_what_pytorch_allows_is_allowed(request, library: str) -> None:
    m = mg if library == "minigrad" else request.getfixturevalue("torch")
    for expression in (
        "nn.RNN(3, 4, bidirectional=1)",
        "nn.BatchNorm1d(3, eps=0.0).eval()(z(2, 3, 4))",
        "nn.InstanceNorm1d(3, eps=0.0)(m.rand(2, 3, 4))",
        "F.cross_entropy(z(2, 3), z(2, 3), ignore_index=-1)",
        "nn.ZeroPad1d(1)(z(2, 3, 4, 5))",
        "nn.ConstantPad2d(1, 2)(z(4, 5))",
        "F.fractional_max_pool3d(z(2, 6, 6, 6), 2, 3, _random_samples=z(2, 2, 3))",
    ):
        eval(expression, {"nn": m.nn, "F": m.nn.functional, "z": m.zeros, "m": m})


@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(0, 3, 4), (0, 3), (2, 3, 0)])
def test_an_empty_batch_moves_no_running_statistics(torch, shape: tuple[int, ...]) -> None:
    ours, theirs = nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3)
    x, y = mg.zeros(*shape, requires_grad=True), torch.zeros(*shape, requires_grad=True)
    for layer, v in ((ours, x), (theirs, y)):
        layer(v).sum().backward()
    assert ours(x).shape == shape and x.grad.shape == shape
    for name, value in theirs.named_buffers():
        np.testing.assert_array_equal(
            dict(ours.named_buffers())[name].numpy() - (name == "num_batches_tracked"),
            value.numpy(),
            name,
        )
    for name, value in theirs.named_parameters():
        np.testing.assert_array_equal(
            dict(ours.named_parameters())[name].grad.numpy(), value.grad.numpy(), name
        )


def test_the_layer_of_norm_pooling_has_the_shape_of_its_function() -> None:
    assert nn.LPPool3d(2, 2)(mg.ones(2, 3, 5, 4, 6)).shape == (2, 3, 2, 2, 3)


@pytest.mark.oracle
@pytest.mark.parametrize("sizes", [(9, 7), (10, 8), (1, 2, 10, 7)])
def test_the_output_size_of_transposed_convolutions(torch, sizes: tuple[int, ...]) -> None:
    settings = {"stride": 2, "padding": (0, 1), "dilation": (1, 2)}
    ours = nn.ConvTranspose2d(2, 3, 3, **settings).double()
    theirs = torch.nn.ConvTranspose2d(2, 3, 3, **settings).double()
    ours.load_state_dict({name: value.numpy() for name, value in theirs.state_dict().items()})
    x = normal(1, 2, 4, 3)
    equal(
        ours(mg.tensor(x), output_size=sizes),
        theirs(torch.tensor(x), output_size=sizes),
        "batch",
        1e-10,
    )
    equal(
        ours(mg.tensor(x[0]), sizes[-2:]),
        theirs(torch.tensor(x[0]), sizes[-2:]),
        "one image",
        1e-10,
    )


@pytest.mark.oracle
@pytest.mark.parametrize("layer", ["Embedding", "EmbeddingBag"])
@pytest.mark.parametrize("freeze", [True, False])
def test_given_rows_are_the_weight_itself(torch, layer: str, freeze: bool) -> None:
    numbers = normal(4, 3)
    rows = mg.tensor(numbers)
    theirs = getattr(torch.nn, layer).from_pretrained(torch.tensor(numbers), freeze, padding_idx=-1)
    ours = getattr(nn, layer).from_pretrained(rows, freeze, padding_idx=-1)
    assert ours.extra_repr() == theirs.extra_repr() and list(ours.state_dict()) == ["weight"]
    assert [(n, p.requires_grad) for n, p in ours.named_parameters()] == [
        (n, p.requires_grad) for n, p in theirs.named_parameters()
    ]
    index = np.array([[0, 3, 0], [1, 2, 3]])
    y, z = ours(mg.tensor(index)), theirs(torch.tensor(index))
    equal(y, z, "rows", 1e-12)
    assert y.requires_grad == z.requires_grad == (not freeze) and not rows.requires_grad
    if not freeze:
        y.sum().backward()
        z.sum().backward()
        equal(ours.weight.grad, theirs.weight.grad, "gradient", 1e-12)
        with mg.no_grad():
            ours.weight.zero_()
        assert float(abs(rows).sum()) == 0  # one memory
    assert F.embedding(mg.tensor([1]), rows).shape == (1, 3)


@pytest.mark.oracle
def test_the_settings_of_an_embedding_count(torch) -> None:
    numbers, index = normal(4, 3), np.array([0, 2, 0])
    settings = {"freeze": False, "max_norm": 0.5, "norm_type": 1.0, "scale_grad_by_freq": True}
    ours = nn.Embedding.from_pretrained(mg.tensor(numbers), **settings)
    theirs = torch.nn.Embedding.from_pretrained(torch.tensor(numbers), **settings)
    y, z = ours(mg.tensor(index)), theirs(torch.tensor(index))
    y.sum().backward()
    z.sum().backward()
    equal(y, z, "rows", 1e-6)
    equal(ours.weight.grad, theirs.weight.grad, "gradient", 1e-12)
    equal(ours.weight, theirs.weight, "shortened rows", 1e-6)
