from .secrets import (
    SecretPolicy as SecretPolicy,
    secret_in as secret_in,
)
