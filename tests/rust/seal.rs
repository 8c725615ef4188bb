//! Snapshots made by hand.

#![allow(dead_code, reason = "not every test uses all of it")]

use toggle_rs::Error;
use toggle_rs::snapshot::{MAGIC, Snapshot};

pub const HEADER: usize = 20;

/// The snapshot with this payload, its length and checksum right.
pub fn seal(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(1_u16.to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend((payload.len() as u64).to_le_bytes());
    bytes.extend(payload);
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

pub fn payload(bytes: &[u8]) -> &[u8] {
    &bytes[HEADER..bytes.len() - 4]
}

pub fn refusal<T: Snapshot + std::fmt::Debug>(bytes: &[u8]) -> String {
    match T::from_bytes(bytes) {
        Err(Error::Snapshot(what)) => what,
        other => panic!("{other:?}"),
    }
}
