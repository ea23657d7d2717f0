"""What a token can mean on Modbus, which knows no user and no password.

Every new connection may read. It may write after it has shown that it knows the token: the server
keeps a random challenge of its own for each connection in eight holding registers, and the client
writes HMAC-SHA256(token, challenge) into the sixteen behind them (RFC 2104). The token itself never
goes over the wire, and what was listened to is worth nothing on the next connection. Nothing is
encrypted and no later frame is signed: who can change frames on their way can still command. A
network that is not trusted needs a tunnel besides.
"""

from __future__ import annotations

import hmac
import secrets
import struct
from collections.abc import Sequence

from softgrasp.description.register_map import ANSWER_WORDS, CHALLENGE_WORDS
from softgrasp.errors import DescriptionError

SHORTEST_TOKEN = 8
MAX_WRONG = 3
"""Wrong answers after which a connection is closed."""


def require_token(token: str) -> str:
    """A token that is worth having.

    Raises:
        DescriptionError: It is too short, or has spaces around it.
    """
    if len(token) < SHORTEST_TOKEN or token != token.strip():
        raise DescriptionError(
            f"expected a token of {SHORTEST_TOKEN} letters or more without spaces around it, "
            f"found one of {len(token)}",
            field="token",
        )
    return token


def answer_to(challenge: Sequence[int], token: str) -> list[int]:
    """The words that a client who knows the token writes.

    Args:
        challenge: Eight words that the server told.
        token: The token.
    """
    message = struct.pack(f">{CHALLENGE_WORDS}H", *challenge)
    digest = hmac.digest(token.encode(), message, "sha256")
    return list(struct.unpack(f">{ANSWER_WORDS}H", digest))


class Access:
    """Whether one connection may write.

    Args:
        token: What it must know; None: everybody may write.
    """

    def __init__(self, token: str | None) -> None:
        self._token = token
        self.granted = token is None
        self.wrong = 0
        self.challenge = _challenge()

    @property
    def asks(self) -> bool:
        """Whether there is a token at all."""
        return self._token is not None

    @property
    def exhausted(self) -> bool:
        """Whether there were too many wrong answers."""
        return self.wrong >= MAX_WRONG

    def offer(self, answer: Sequence[int]) -> bool:
        """Take an answer; a wrong one makes a new challenge."""
        if self._token is None:
            return True
        response = struct.pack(f">{len(answer)}H", *answer)
        expected = struct.pack(f">{ANSWER_WORDS}H", *answer_to(self.challenge, self._token))
        right = hmac.compare_digest(response, expected)
        self.challenge = _challenge()
        if not right:
            self.wrong += 1
            self.granted = False
        else:
            self.granted = True
        return right


def _challenge() -> list[int]:
    return list(struct.unpack(f">{CHALLENGE_WORDS}H", secrets.token_bytes(2 * CHALLENGE_WORDS)))
