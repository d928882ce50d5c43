//! The keyed hash that stands for a policy and a key: SipHash-1-3 (Aumasson and Bernstein, 2012).
//!
//! Written out for one short message at a time: a hasher that takes pieces keeps a buffer and
//! counts, which costs more than hashing a key does.

/// The key of the hash: 128 random bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Secret(pub(super) u64, pub(super) u64);

impl Secret {
    /// The secret of one policy's keys.
    ///
    /// The policy is added to the key instead of hashed before the bytes, which would cost one round
    /// of five: those who send keys do not choose policies' names.
    #[inline]
    pub(super) fn of(self, space: u64) -> Secret {
        Secret(self.0 ^ space, self.1)
    }

    /// The hash of bytes.
    #[inline]
    pub(super) fn hash(self, bytes: &[u8]) -> u64 {
        let mut state = State::new(self);
        let (blocks, tail) = bytes.as_chunks::<8>();
        for block in blocks {
            state.absorb(u64::from_le_bytes(*block));
        }
        // The last block: what is left, and in its last byte the length of the whole message.
        let length = (bytes.len() as u64) << 56;
        state.absorb(last_bytes(bytes, tail) | length);
        state.finish()
    }
}

/// The bytes of the tail as a little-endian number. Where there are eight bytes at the end they are
/// read at once, and those before the tail shifted out.
#[inline]
fn last_bytes(bytes: &[u8], tail: &[u8]) -> u64 {
    match bytes.last_chunk::<8>() {
        _ if tail.is_empty() => 0,
        Some(last) => u64::from_le_bytes(*last) >> (8 * (8 - tail.len())),
        None => tail.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// The four words of SipHash.
struct State(u64, u64, u64, u64);

impl State {
    #[inline]
    fn new(Secret(k0, k1): Secret) -> State {
        State(
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        )
    }

    #[inline]
    fn absorb(&mut self, word: u64) {
        self.3 ^= word;
        self.round();
        self.0 ^= word;
    }

    #[inline]
    fn finish(mut self) -> u64 {
        self.2 ^= 0xff;
        self.round();
        self.round();
        self.round();
        self.0 ^ self.1 ^ self.2 ^ self.3
    }

    #[inline]
    fn round(&mut self) {
        let State(a, b, c, d) = self;
        *a = a.wrapping_add(*b);
        *c = c.wrapping_add(*d);
        *b = b.rotate_left(13) ^ *a;
        *d = d.rotate_left(16) ^ *c;
        *a = a.rotate_left(32);
        *c = c.wrapping_add(*b);
        *a = a.wrapping_add(*d);
        *b = b.rotate_left(17) ^ *c;
        *d = d.rotate_left(21) ^ *a;
        *c = c.rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use std::hash::Hasher;

    use proptest::prelude::*;
    use siphasher::sip::SipHasher13;

    use super::*;

    proptest! {
        #[test]
        fn it_is_siphash_1_3(
            secret in any::<(u64, u64)>(),
            space in any::<u64>(),
            bytes in prop::collection::vec(any::<u8>(), 0..70),
        ) {
            let mut reference = SipHasher13::new_with_keys(secret.0 ^ space, secret.1);
            reference.write(&bytes);
            let own = Secret(secret.0, secret.1).of(space).hash(&bytes);
            prop_assert_eq!(own, reference.finish());
        }
    }
}
