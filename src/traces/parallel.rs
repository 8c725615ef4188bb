//! Many files at once, with the result of one after the other.

use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

use super::{Reader, TraceError};
use crate::keys::KeyRef;

/// What a thread tells the one that waits.
enum Message {
    /// So many more bytes have been read.
    Bytes(u64),
    /// The file of this index has ended.
    File(usize, Box<Result<Reader, TraceError>>),
}

/// Why a file was not read to its end.
enum Ended {
    /// It is of no account any more.
    Unwanted,
    Failed(TraceError),
}

impl From<TraceError> for Ended {
    fn from(error: TraceError) -> Self {
        Self::Failed(error)
    }
}

/// The files, and which of them are still of account.
struct Queue<'a, P> {
    reader: &'a Reader,
    paths: &'a [P],
    next: AtomicUsize,
    /// Files from this index on are not wanted: one before them has failed.
    end: AtomicUsize,
}

impl<P: AsRef<Path>> Queue<'_, P> {
    /// Reads files until there are no more.
    fn work(&self, sender: &Sender<Message>) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let is_wanted = || index < self.end.load(Ordering::Relaxed);
            let Some(path) = self.paths.get(index).filter(|_| is_wanted()) else {
                return;
            };
            let mut part = Reader::new(self.reader.fields.clone());
            let read = part.read_file(path.as_ref(), |bytes| {
                // Nobody hears it only when nobody wants it.
                let is_heard = sender.send(Message::Bytes(bytes)).is_ok();
                if is_heard && is_wanted() {
                    Ok(())
                } else {
                    Err(Ended::Unwanted)
                }
            });
            let result = match read {
                Ok(()) => Ok(part),
                Err(Ended::Failed(error)) => Err(error),
                Err(Ended::Unwanted) => return,
            };
            if sender.send(Message::File(index, Box::new(result))).is_err() {
                return;
            }
        }
    }
}

impl Reader {
    /// Takes in files, on all processors; the result is that of
    /// [`Reader::read_file`] for each, in order.
    ///
    /// `on_bytes` is called on this thread, with the bytes of any file that
    /// were read since its last call; its error ends the reading.
    ///
    /// # Errors
    /// [`TraceError`] about the first file that has a fault, or what `on_bytes`
    /// returned. Nothing of any file has been taken in then.
    pub fn read_files<E: From<TraceError>>(
        &mut self,
        paths: &[impl AsRef<Path> + Sync],
        mut on_bytes: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        let queue = Queue {
            reader: self,
            paths,
            next: AtomicUsize::new(0),
            end: AtomicUsize::new(paths.len()),
        };
        let mut parts: Vec<Option<Result<Self, TraceError>>> = Vec::new();
        parts.resize_with(paths.len(), || None);
        let reported: Result<(), E> = thread::scope(|scope| {
            let (sender, messages) = mpsc::channel();
            for _ in 0..processors.min(paths.len()) {
                let (queue, sender) = (&queue, sender.clone());
                scope.spawn(move || queue.work(&sender));
            }
            drop(sender); // So that the messages end with the last thread.
            for message in messages {
                match message {
                    // On an error nobody listens any more, and the threads end.
                    Message::Bytes(bytes) => on_bytes(bytes)?,
                    Message::File(index, part) => {
                        if part.is_err() {
                            queue.end.fetch_min(index, Ordering::Relaxed);
                        }
                        parts[index] = Some(*part);
                    }
                }
            }
            Ok(())
        });
        reported?;
        // Files behind the first bad one may be missing.
        let parts = parts.into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
        for part in parts {
            self.append(part);
        }
        Ok(())
    }

    fn append(&mut self, part: Self) {
        let mut ids = Vec::with_capacity(part.keys.len());
        for key in part.keys.keys() {
            let names: Vec<&str> = key.names().collect();
            ids.push(self.keys.intern(KeyRef::Many(&names)));
        }
        let before = self.rows.len() as u64;
        self.rows.extend(part.rows.into_iter().map(|mut row| {
            row.dataset = ids[row.dataset as usize];
            if self.fields.sample.is_none() {
                row.sample += before;
            }
            row
        }));
        self.torn += part.torn;
    }
}
