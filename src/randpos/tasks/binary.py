"""Exact arithmetic on long numbers: digits in an array, the lowest first."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

LIMB = 30
"""Bits in a digit of sums and roots: the most for which the sum of two digits fits an int32."""
BYTE = 8
"""Bits in a digit of products, of which a column adds many."""


def carried(columns: Int[Array, " places"], base: int) -> Int[Array, " places"]:
    """Resolves the carries of columns of at most 2·base − 2; a carry out of the last is lost.

    A column of exactly base − 1 passes the carry on. The carry out of any other column does not
    depend on the carry into it. So the carry out of a place is that of the last such column up to
    there: a running maximum over (place, carry) pairs finds all carries at once.

    >>> carried(jnp.array([2, 1, 1, 0]), 2)  # 1 + 1 ripples through 1 and 1
    Array([0, 0, 0, 1], dtype=int32)
    """
    place = jnp.arange(1, columns.shape[0] + 1)
    decision = jnp.where(columns == base - 1, 0, 2 * place + (columns >= base))
    out = jax.lax.cummax(decision) & 1
    total = columns + jnp.pad(out[:-1], (1, 0))
    return jnp.where(total >= base, total - base, total)


def pack(bits: Int[Array, " bits"], width: int) -> Int[Array, " digits"]:
    """Gathers bits into digits of `width` bits.

    >>> pack(jnp.array([1, 0, 1, 1]), 3)
    Array([5, 1], dtype=int32)
    """
    rows = jnp.pad(bits, (0, -bits.shape[0] % width)).reshape(-1, width)
    return jnp.sum(rows << jnp.arange(width), axis=1)


def spell(digits: Int[Array, " digits"], width: int, count: int) -> Int[Array, " {count}"]:
    """Spells digits of `width` bits as `count` bits: the inverse of `pack`.

    >>> spell(jnp.array([5, 1]), 3, 4)
    Array([1, 0, 1, 1], dtype=int32)
    """
    return ((digits[:, None] >> jnp.arange(width)) & 1).reshape(-1)[:count]


def total(first: Int[Array, " bits"], second: Int[Array, " bits"]) -> Int[Array, " bits"]:
    """Adds two numbers, modulo 2 to the number of bits.

    >>> total(jnp.array([1, 1, 0]), jnp.array([1, 0, 0]))  # 3 + 1
    Array([0, 0, 1], dtype=int32)
    """
    columns = pack(first, LIMB) + pack(second, LIMB)
    return spell(carried(columns, 1 << LIMB), LIMB, first.shape[0])


def as_bytes(columns: Int[Array, " places"]) -> Int[Array, " places"]:
    """Resolves the carries of columns in base 256, of any size; those out of the last are lost.

    Writing each column as four bytes, each added where it belongs, leaves at most 4 · 255; doing so
    again leaves at most 255 + 3, which `carried` takes.

    >>> as_bytes(jnp.array([0x10203, 0xFF]))
    Array([3, 1], dtype=int32)
    """
    for _ in range(2):
        parts = [(columns >> (BYTE * byte)) & 0xFF for byte in range(4)]
        shifted = [jnp.pad(part, (byte, 0))[: part.shape[0]] for byte, part in enumerate(parts)]
        columns = jnp.sum(jnp.stack(shifted), axis=0)
    return carried(columns, 1 << BYTE)


def product(first: Int[Array, " bits"], second: Int[Array, " bits"]) -> Int[Array, " bits"]:
    """Multiplies two numbers, modulo 2 to the number of bits.

    A column adds one product of two bytes per byte of the numbers, so that an int32 is exact up to
    33,025 bytes.

    >>> product(jnp.array([1, 0, 1, 0]), jnp.array([1, 1, 0, 0]))  # 5 · 3
    Array([1, 1, 1, 1], dtype=int32)
    """
    left, right = pack(first, BYTE), pack(second, BYTE)
    digits = right.shape[0]
    shifted = jnp.pad(right, (digits, 0))

    def add_row(columns: Array, row: tuple[Array, Array]) -> tuple[Array, None]:
        index, digit = row
        return columns + digit * jax.lax.dynamic_slice(shifted, (digits - index,), (digits,)), None

    columns, _ = jax.lax.scan(add_row, jnp.zeros_like(right), (jnp.arange(digits), left))
    return spell(as_bytes(columns), BYTE, first.shape[0])


def doubled(number: Int[Array, " digits"], times: int) -> Int[Array, " digits"]:
    """Shifts a number of `LIMB`-bit digits left, filling with zeros.

    >>> doubled(jnp.array([2**29, 3]), 1)
    Array([0, 7], dtype=int32)
    """
    kept = (number & ((1 << (LIMB - times)) - 1)) << times
    return kept | jnp.pad(number[:-1] >> (LIMB - times), (1, 0))


def square_root(pairs: Int[Array, " pairs"]) -> Int[Array, " pairs"]:
    """Returns ⌊√x⌋, bit by bit from the highest, for x in base 4 with the highest digit *first*.

    The schoolbook method: with root r and remainder x − r² of the digits so far, the next digit
    makes the remainder 4·remainder + digit, and the next bit of the root is 1 if 4r + 1 fits in
    it. Digits after the end of x do not change the bits before them.

    >>> square_root(jnp.array([2, 1, 1]))  # 37 = 10 01 01 in pairs of bits
    Array([1, 1, 0], dtype=int32)
    """
    # A remainder is at most 2r, so it and 4r + 1 have two bits more than the root; the top digit
    # stays zero and shows the sign of a difference.
    digits = -(-(pairs.shape[0] + 2) // LIMB) + 1
    largest = (1 << LIMB) - 1

    def next_bit(state: tuple[Array, Array], pair: Array):
        root, remainder = state
        remainder = doubled(remainder, 2).at[0].add(pair)
        trial = doubled(root, 2).at[0].add(1)
        # remainder − trial, by adding the complement and one.
        difference = carried((remainder + (largest - trial)).at[0].add(1), 1 << LIMB)
        fits = difference[-1] == 0
        root = doubled(root, 1).at[0].add(fits.astype(jnp.int32))
        return (root, jnp.where(fits, difference, remainder)), fits

    zero = jnp.zeros(digits, jnp.int32)
    _, bits = jax.lax.scan(next_bit, (zero, zero), pairs)
    return bits.astype(jnp.int32)
