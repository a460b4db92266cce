"""The Transformer: model, attention, layers and dropout."""
