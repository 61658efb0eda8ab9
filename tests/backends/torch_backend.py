"""PyTorch: eager."""

import ml_dtypes
import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode


MODES = ("eager",)


def _to_array(tensor, dtype=None, copy=None):
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        return tensor.float().numpy().astype(dtype or ml_dtypes.bfloat16)
    return np.array(tensor.numpy(), dtype=dtype, copy=copy)


# As on the other backends, NumPy reads tensors of bfloat16 too, and those
# that a gradient can be taken of; its functions of tensors return arrays.
torch.Tensor.__array__ = _to_array
del torch.Tensor.__array_wrap__

# The tensors are small: a second thread would make the tests slower.
torch.set_num_threads(1)


def in_mode(function, mode, shapes=None, state=()):
    """Returns the function as it is."""
    return function


def differentiate(function, tensors, weights=(), mode="eager"):
    """Returns results, and the gradients of the first of them."""
    tensors = [tensor.detach().requires_grad_() for tensor in tensors]
    results = function(*tensors)
    sources = [*tensors, *[weight.value for weight in weights]]
    if not results[0].requires_grad:  # it is constant
        return results, [torch.zeros_like(source) for source in sources]
    return results, torch.autograd.grad(
        results[0], sources, materialize_grads=True
    )


def forget():
    """Frees what was compiled; there is no need to."""


def call_back(function):
    """Calls a function of Python whenever a graph gets to this place."""
    function()


class _Sizes(TorchDispatchMode):
    """Notes the size of whatever is computed."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    def __torch_dispatch__(self, operation, types, arguments=(), keywords=None):
        result = operation(*arguments, **(keywords or {}))
        parts = result if isinstance(result, (list, tuple)) else [result]
        self.sizes += [
            part.numel() for part in parts if isinstance(part, torch.Tensor)
        ]
        return result


def largest_tensor(function, *shapes):
    """Returns how many numbers the largest tensor of a function holds."""
    tensors = [torch.rand(shape) for shape in shapes]
    with _Sizes() as noted:
        function(*tensors)
    return max(noted.sizes)
