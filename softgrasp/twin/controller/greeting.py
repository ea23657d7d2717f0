"""What a client with a token says first on every connection."""

from __future__ import annotations

from softgrasp.description.register_map import CHALLENGE_WORDS, RegisterMap
from softgrasp.errors import RequestRefusedError
from softgrasp.twin.controller.access import answer_to
from softgrasp.twin.controller.exchange import (
    Refusal,
    check_written,
    read_request,
    words_in,
    write_request,
)
from softgrasp.twin.controller.link import Ask, Greet

WRONG = 3
"""The exception with which a wrong answer is refused: an illegal value."""


def token_greeting(registers: RegisterMap, token: str) -> Greet:
    """The handshake of ``access``, from the side of the client.

    Args:
        registers: Names the registers of the handshake.
        token: The token.

    Returns:
        What asks for the challenge and answers it; raises ``RequestRefusedError`` where the answer
        is not taken.
    """

    async def greet(ask: Ask) -> None:
        unit, address = registers.device_id, registers.handshake
        try:
            answer = await ask(unit, read_request("holding", address, CHALLENGE_WORDS))
            words = answer_to(words_in(answer, "holding", CHALLENGE_WORDS), token)
            request = write_request("holding", address + CHALLENGE_WORDS, words)
            check_written(await ask(unit, request), request)
        except Refusal as refusal:
            why = "it is wrong" if refusal.code == WRONG else str(refusal)
            raise RequestRefusedError(
                f"token (holding {address}): expected the controller to take it, found: {why}"
            ) from None

    return greet
