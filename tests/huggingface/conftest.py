import pytest
import torch
import transformers


@pytest.fixture(autouse=True, scope="session")
def _quiet_on_one_core():
    """Other people measure on this machine, and transformers logs a line per tiny model."""
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)
