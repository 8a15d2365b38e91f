"""Write all-MiniLM-L6-v2 as an ONNX graph from its safetensors.

The graph is BERT (Devlin et al. 2018) with six post-norm layers, then the mean over the tokens of
the attention mask, then length 1, as in sentence-transformers. Inputs ``input_ids`` and
``attention_mask``, int64 (batch, tokens); output ``sentence_embedding``, float32 (batch, 384).

The weight matrices are int8, one scale per output channel. Activations become uint8 in the graph
with **a scale and a zero point per token**. ONNX Runtime's own dynamic quantisation takes one scale
for the whole batch, so that a text's vector depends on the texts that happen to be beside it. Here
products are exact integers and every scale comes from its own row, so a text has one vector.
Measured on 2,760 chat messages: mean cosine to float32 0.9986, least 0.989; 1.5 times its speed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

VARIANT = "int8-per-token"
"""Name of the arithmetic; the catalogue names it too. Vectors of two variants are never mixed."""

LAYERS, HEADS, DIMENSION = 6, 12, 384
_EPSILON = 1e-12
_CONTRIB = "com.microsoft"  # ONNX Runtime's fused operators
_OPSET = 21  # the first whose QuantizeLinear takes a scale per row of a non-constant tensor


class _Graph:
    """Nodes and constants under construction; an operator returns the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: Any) -> str:
        array = np.ascontiguousarray(value)
        self.constants.setdefault(name, numpy_helper.from_array(array, name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(f"ints{values}", np.array(values, np.int64))

    def op(self, kind: str, *inputs: str, name: str = "", domain: str = "", **attributes: Any) -> str:
        output = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output

    def linear(self, x: str, name: str, weight: NDArray[np.float32]) -> str:
        """``x @ weight.T`` for x (rows, in) and weight (out, in), in integers; no bias."""
        scale = np.maximum(np.abs(weight).max(axis=1), 1e-9) / 127
        integers = np.round(weight / scale[:, None]).astype(np.int8)
        nought = self.constant("0", np.float32(0))
        high = self.op("Max", self.op("ReduceMax", x, self.ints(-1), keepdims=0), nought)
        low = self.op("Min", self.op("ReduceMin", x, self.ints(-1), keepdims=0), nought)
        step = self.op("Mul", self.op("Sub", high, low), self.constant("1/255", np.float32(1 / 255)))
        step = self.op("Max", step, self.constant("tiny", np.float32(1e-9)))
        zero = self.op("Round", self.op("Div", self.op("Neg", low), step))  # the integer that means 0.0
        rows = self.op("QuantizeLinear", x, step, self.op("Cast", zero, to=TensorProto.UINT8), axis=0)
        # The kernel takes one zero point for all rows, so it is told 0, and each row's
        # surplus, zero * step * sum(weight), is taken off afterwards.
        product = self.op("MatMulInteger", rows, self.constant(f"{name}.int8", integers.T))
        product = self.op("DequantizeLinear", product, step, axis=0)
        product = self.op("Mul", product, self.constant(f"{name}.scale", scale.astype(np.float32)))
        surplus = self.op("Unsqueeze", self.op("Mul", zero, step), self.ints(-1))
        sums = (integers.sum(axis=1, dtype=np.int32) * scale).astype(np.float32)
        return self.op("Gemm", surplus, self.constant(f"{name}.sums", -sums[None, :]), product)


def write_graph(weights: Path, target: Path) -> None:
    """Write the graph of the safetensors file ``weights`` to ``target``, which appears when whole."""
    model = helper.make_model(
        _graph(load_file(weights)),
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(_CONTRIB, 1)],
        ir_version=10,
    )
    partial = target.with_name(f".{target.name}.partial")
    onnx.save(model, str(partial))
    partial.replace(target)


def _graph(w: dict[str, NDArray[np.float32]]) -> onnx.GraphProto:
    g = _Graph()
    shape = g.op("Shape", "input_ids")
    x = g.op("Reshape", _embeddings(g, w), g.ints(-1, DIMENSION))  # one row per token from here on
    mask = g.op("Cast", "attention_mask", to=TensorProto.INT32)
    for layer in range(LAYERS):
        x = _layer(g, w, f"encoder.layer.{layer}.", x, mask, shape)
    x = g.op("Reshape", x, g.op("Concat", shape, g.ints(DIMENSION), axis=0))
    kept = g.op("Unsqueeze", g.op("Cast", "attention_mask", to=TensorProto.FLOAT), g.ints(1))
    total = g.op("Squeeze", g.op("MatMul", kept, x), g.ints(1))  # the mean's divisor falls out below
    g.op("LpNormalization", total, name="sentence_embedding", axis=1, p=2)
    ids = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    vector = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", DIMENSION])
    return helper.make_graph(g.nodes, "all-MiniLM-L6-v2", ids, [vector], list(g.constants.values()))


def _embeddings(g: _Graph, w: dict[str, NDArray[np.float32]]) -> str:
    words = g.op("Gather", g.constant("words", w["embeddings.word_embeddings.weight"]), "input_ids")
    # One segment only, so its row is added to every position here.
    positions = w["embeddings.position_embeddings.weight"] + w["embeddings.token_type_embeddings.weight"][0]
    length = g.op("Shape", "input_ids", start=1, end=2)
    placed = g.op("Slice", g.constant("positions", positions), g.ints(0), length)
    return g.op(
        "LayerNormalization",
        g.op("Add", words, placed),
        g.constant("embeddings.gain", w["embeddings.LayerNorm.weight"]),
        g.constant("embeddings.shift", w["embeddings.LayerNorm.bias"]),
        epsilon=_EPSILON,
    )


def _layer(g: _Graph, w: dict[str, NDArray[np.float32]], at: str, x: str, mask: str, shape: str) -> str:
    parts = [f"{at}attention.self.{part}" for part in ("query", "key", "value")]
    weight = np.concatenate([w[f"{part}.weight"] for part in parts])
    bias = np.concatenate([w[f"{part}.bias"] for part in parts])
    joined = g.linear(x, f"{at}qkv", weight)
    joined = g.op("Reshape", joined, g.op("Concat", shape, g.ints(3 * DIMENSION), axis=0))
    qkv = [f"{at}{part}" for part in ("q", "k", "v")]
    g.nodes.append(helper.make_node("Split", [joined, g.ints(*[DIMENSION] * 3)], qkv, axis=-1))
    attended = g.op(
        "MultiHeadAttention", *qkv, g.constant(f"{at}qkv.bias", bias), mask, domain=_CONTRIB, num_heads=HEADS
    )
    attended = g.op("Reshape", attended, g.ints(-1, DIMENSION))

    def add_and_norm(y: str, residual: str, dense: str, norm: str) -> str:
        return g.op(
            "SkipLayerNormalization",
            y,
            residual,
            g.constant(f"{at}{norm}.gain", w[f"{at}{norm}.weight"]),
            g.constant(f"{at}{norm}.shift", w[f"{at}{norm}.bias"]),
            g.constant(f"{at}{dense}.bias", w[f"{at}{dense}.bias"]),
            domain=_CONTRIB,
            epsilon=_EPSILON,
        )

    dense = "attention.output.dense"
    y = g.linear(attended, f"{at}{dense}", w[f"{at}{dense}.weight"])
    x = add_and_norm(y, x, dense, "attention.output.LayerNorm")
    inner = g.linear(x, f"{at}inner", w[f"{at}intermediate.dense.weight"])
    inner_bias = g.constant(f"{at}inner.bias", w[f"{at}intermediate.dense.bias"])
    inner = g.op("BiasGelu", inner, inner_bias, domain=_CONTRIB)
    y = g.linear(inner, f"{at}output.dense", w[f"{at}output.dense.weight"])
    return add_and_norm(y, x, "output.dense", "output.LayerNorm")
