"""Writes the ONNX graph of a BERT encoder from its weights, without torch.

    bert_to_onnx.py MODEL_FOLDER OUTPUT.onnx

MODEL_FOLDER holds `config.json` and `model.safetensors` as sentence-transformers publishes them. The graph takes
`input_ids`, `attention_mask` and `token_type_ids` (int64, [batch, tokens]) and gives `last_hidden_state`
([batch, tokens, hidden], 32-bit floats). Opset 17. The architecture is that of Devlin et al., 2018, with exact GELU and
normalisation after each residual sum.
"""

import json
import math
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Graph:
    """Nodes and constants under construction."""

    def __init__(self, weights):
        self.weights = weights
        self.nodes = []
        self.constants = {}

    def constant(self, name, value, dtype):
        # order="C" and not ascontiguousarray, which would make vectors of scalars.
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(numpy.array(value, dtype=dtype, order="C"), name)
        return name

    def whole(self, *values):
        """A vector of integers."""
        return self.constant("int_" + "_".join(map(str, values)), values, numpy.int64)

    def scalar(self, value, dtype=numpy.float32):
        return self.constant(f"scalar_{numpy.dtype(dtype).name}_{value!r}", value, dtype)

    def weight(self, name, transposed=False):
        value = self.weights[name]
        return self.constant(name, value.T if transposed else value, numpy.float32)

    def add(self, kind, *inputs, name=None, **attributes):
        output = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def dense(self, value, layer):
        product = self.add("MatMul", value, self.weight(f"{layer}.weight", transposed=True))
        return self.add("Add", product, self.weight(f"{layer}.bias"))

    def normalised(self, value, layer, epsilon):
        scale, shift = self.weight(f"{layer}.weight"), self.weight(f"{layer}.bias")
        return self.add("LayerNormalization", value, scale, shift, axis=-1, epsilon=epsilon)


def embeddings(graph, config):
    """The sum of what a token, its place and its kind stand for."""
    tokens = graph.add("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    kinds = graph.add("Gather", graph.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
    length = graph.add("Gather", graph.add("Shape", "input_ids"), graph.scalar(1, numpy.int64))
    numbers = graph.add("Range", graph.scalar(0, numpy.int64), length, graph.scalar(1, numpy.int64))
    places = graph.add("Gather", graph.weight("embeddings.position_embeddings.weight"), numbers)
    total = graph.add("Add", graph.add("Add", tokens, kinds), places)
    return graph.normalised(total, "embeddings.LayerNorm", config["layer_norm_eps"])


def hidden_tokens(graph):
    """What is added to the scores of attention: nothing for tokens, a very small number for padding."""
    mask = graph.add("Cast", "attention_mask", to=TensorProto.FLOAT)
    absent = graph.add("Sub", graph.scalar(1.0), graph.add("Unsqueeze", mask, graph.whole(1, 2)))
    return graph.add("Mul", absent, graph.scalar(-3e38))


def attention(graph, value, layer, hidden, config):
    heads = config["num_attention_heads"]
    width = config["hidden_size"] // heads
    split = graph.whole(0, 0, heads, width)

    def part(name, order):
        dense = graph.dense(value, f"{layer}.attention.self.{name}")
        return graph.add("Transpose", graph.add("Reshape", dense, split), perm=order)

    query, key, content = part("query", [0, 2, 1, 3]), part("key", [0, 2, 3, 1]), part("value", [0, 2, 1, 3])
    scores = graph.add("Mul", graph.add("MatMul", query, key), graph.scalar(1 / math.sqrt(width)))
    shares = graph.add("Softmax", graph.add("Add", scores, hidden), axis=-1)
    mixed = graph.add("Transpose", graph.add("MatMul", shares, content), perm=[0, 2, 1, 3])
    joined = graph.add("Reshape", mixed, graph.whole(0, 0, config["hidden_size"]))
    residual = graph.add("Add", graph.dense(joined, f"{layer}.attention.output.dense"), value)
    return graph.normalised(residual, f"{layer}.attention.output.LayerNorm", config["layer_norm_eps"])


def feed_forward(graph, value, layer, config):
    wide = graph.dense(value, f"{layer}.intermediate.dense")
    # GELU: x/2 · (1 + erf(x/√2))
    bent = graph.add("Add", graph.add("Erf", graph.add("Div", wide, graph.scalar(math.sqrt(2)))), graph.scalar(1.0))
    active = graph.add("Mul", graph.add("Mul", wide, graph.scalar(0.5)), bent)
    residual = graph.add("Add", graph.dense(active, f"{layer}.output.dense"), value)
    return graph.normalised(residual, f"{layer}.output.LayerNorm", config["layer_norm_eps"])


def bert(weights, config):
    graph = Graph(weights)
    value = embeddings(graph, config)
    hidden = hidden_tokens(graph)
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        value = feed_forward(graph, attention(graph, value, layer, hidden, config), layer, config)
    graph.add("Identity", value, name="last_hidden_state")
    shape = ["batch", "tokens"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in INPUTS]
    outputs = [
        helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, config["hidden_size"]])
    ]
    made = helper.make_graph(graph.nodes, "bert", inputs, outputs, list(graph.constants.values()))
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main():
    folder, output = pathlib.Path(sys.argv[1]), sys.argv[2]
    config = json.loads((folder / "config.json").read_text())
    model = bert(load_file(folder / "model.safetensors"), config)
    onnx.checker.check_model(model)
    onnx.save(model, output)


if __name__ == "__main__":
    main()
