"""The paper's tables, our numbers beside the published ones."""
