"""The commands, each a dataclass whose fields are its flags: thin, they call and print."""
