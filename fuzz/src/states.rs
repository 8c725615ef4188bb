//! States that no calls have led to, by way of snapshots.

use std::fmt::Debug;

use arbitrary::Arbitrary;
use toggle_rs::snapshot::Snapshot;

use crate::seal::{payload, seal};

/// Bytes in place of others, somewhere in the payload of a snapshot.
#[derive(Debug, Arbitrary)]
pub struct Splice {
    at: u16,
    removed: u16,
    inserted: Vec<u8>,
}

/// What the snapshot of `object` stands for once it is changed and sealed
/// anew, if it stands for anything.
pub fn altered<T: Snapshot + PartialEq + Debug>(object: &T, splices: Vec<Splice>) -> Option<T> {
    let mut payload = payload(&object.to_bytes()).to_vec();
    for splice in splices {
        let start = usize::from(splice.at) % (payload.len() + 1);
        let end = payload.len().min(start + usize::from(splice.removed));
        payload.splice(start..end, splice.inserted);
    }
    let bytes = seal(T::KIND as u16, &payload);
    let state = T::from_bytes(&bytes).ok()?;
    assert_eq!(state.to_bytes(), bytes, "two snapshots of one state");
    Some(state)
}

/// Checks that a snapshot of `object` stands for an equal object.
pub fn check_round_trip<T: Snapshot + PartialEq + Debug>(object: &T) {
    assert_eq!(T::from_bytes(&object.to_bytes()).as_ref(), Ok(object));
}
