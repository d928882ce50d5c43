//! What tonic reads and writes for the limiter: requests by prost, answers that are written already.

use std::marker::PhantomData;

use bytes::BufMut;
use prost::Message;
use tonic::Status;
use tonic::codec::{EncodeBuf, Encoder};
use tonic_prost::{ProstCodec, ProstDecoder};

/// Requests of this type, and answers as their bytes.
pub(super) struct Codec<M>(PhantomData<M>);

impl<M> Default for Codec<M> {
    fn default() -> Codec<M> {
        Codec(PhantomData)
    }
}

impl<M: Message + Default + 'static> tonic::codec::Codec for Codec<M> {
    type Encode = Vec<u8>;
    type Decode = M;
    type Encoder = Written;
    type Decoder = ProstDecoder<M>;

    fn encoder(&mut self) -> Written {
        Written
    }

    fn decoder(&mut self) -> ProstDecoder<M> {
        ProstCodec::<M, M>::default().decoder()
    }
}

/// Passes on messages that are written already.
pub(super) struct Written;

impl Encoder for Written {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, message: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&message);
        Ok(())
    }
}
