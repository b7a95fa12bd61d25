"""Convert the published weights and check the result. Runs where onnx is installed; see build_model.py."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from minilm import weights
from minilm.graph import PRESENT, ROWS, int8_model, token_rows
from minilm.reference import Reference, largest_inputs
from minilm.weights import MAX_TOKENS, Array, Weights

HERE = Path(__file__).parent
# Below this the rounding would show in what a search finds.
LEAST_COSINE = 0.98
# Similarities that the authors of the model print for these three sentences.
PUBLISHED = {
    ("The weather is lovely today.", "It's so sunny outside!"): 0.6660,
    ("The weather is lovely today.", "He drove to the stadium."): 0.1046,
    ("It's so sunny outside!", "He drove to the stadium."): 0.1411,
}


def convert(source: Path, out: Path) -> Array:
    """Write the model, its tokens and its card to `out`; stop if the vectors are not the model's.

    Answers with the full-precision vectors of the sample.
    """
    published = weights.read(source / "model.safetensors")
    tokenizer = _tokenizer(source / "tokenizer.json")
    reference = _reference_vectors(published, tokenizer)
    model, rows = int8_model(published, _calibrate(published, tokenizer)), token_rows(published)
    _verify(model, rows, tokenizer, reference)
    out.mkdir(parents=True, exist_ok=True)
    (out / "tokenizer.json").write_text(tokenizer.to_str(), encoding="utf-8")
    (out / "model-card.md").write_bytes((source / "README.md").read_bytes())
    (out / "model.onnx").write_bytes(model)
    np.save(out / "tokens.npy", rows)
    return reference


def _reference_vectors(published: Weights, tokenizer: Tokenizer) -> Array:
    reference = Reference(published)
    return np.stack([reference.embed(ids) for ids in _ids(tokenizer, sample())])


def _calibrate(published: Weights, tokenizer: Tokenizer) -> dict[str, Array]:
    sentences = (HERE / "calibration.txt").read_text(encoding="utf-8").splitlines()
    return largest_inputs(published, _ids(tokenizer, sentences))


def sample() -> list[str]:
    """Sentences that calibration has not seen."""
    sentences: list[str] = json.loads((HERE / "sample.json").read_text(encoding="utf-8"))
    return sentences


def _tokenizer(path: Path) -> Tokenizer:
    """The published file asks for 128 tokens always; texts come in many lengths and the model reads 256."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def _ids(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    return [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]


def _verify(model: bytes, rows: NDArray[np.void], tokenizer: Tokenizer, reference: Array) -> None:
    _compare_with_published(reference)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    vectors = np.stack([_embed(session, rows[ids]) for ids in _ids(tokenizer, sample())])
    cosines = (vectors * reference).sum(axis=1)
    print(f"cosine to full precision, {len(cosines)} sentences: mean {cosines.mean():.4f}, least {cosines.min():.4f}")
    if cosines.min() < LEAST_COSINE:
        raise SystemExit(f"The int8 model is too far from the published one at: {sample()[int(cosines.argmin())]!r}")


def _compare_with_published(reference: Array) -> None:
    vectors = dict(zip(sample(), reference, strict=True))
    for (one, other), expected in PUBLISHED.items():
        measured = float(vectors[one] @ vectors[other])
        if abs(measured - expected) > 0.0005:
            raise SystemExit(f"The weights are not the published ones: {measured:.4f}, expected {expected:.4f}")


def _embed(session: onnxruntime.InferenceSession, tokens: NDArray[np.void]) -> Array:
    rows = tokens["row"] * tokens["scale"][:, None]
    vectors: list[Array] = session.run(None, {ROWS: rows[None], PRESENT: np.ones((1, len(rows)), np.float32)})[0]
    return vectors[0]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--source", type=Path, required=True, help="directory of the published files")
    arguments.add_argument("--out", type=Path, required=True)
    arguments.add_argument("--reference", type=Path, help="also write the full-precision vectors of the sample here")
    chosen = arguments.parse_args()
    reference = convert(chosen.source, chosen.out)
    if chosen.reference:
        np.save(chosen.reference, reference)


if __name__ == "__main__":
    main()
