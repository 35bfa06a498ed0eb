"""Models of a few thousand random weights, for libraries that want real ones."""

import pytest

SHAPE = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}


def save_tiny_berts(folder, words, length):
    """Save a bi-encoder and a cross-encoder that know some words, as ``folder / "bi"`` and ``folder / "cross"``."""
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=length)
    config = transformers.BertConfig(
        vocab_size=len(words) + 5, max_position_embeddings=length, num_labels=1, initializer_range=1.0, **SHAPE
    )
    torch.manual_seed(1)
    for name, model in (("bi", transformers.BertModel), ("cross", transformers.BertForSequenceClassification)):
        model(config).save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
