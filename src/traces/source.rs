//! Files to lines: plain, gzip or zstd, one reused buffer.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::TraceError;
use super::line::LineError;

/// First bytes of a file, and what they say it is.
const MAGICS: [(&[u8], Coding); 2] = [
    (&[0x1f, 0x8b], Coding::Gzip),
    (&[0x28, 0xb5, 0x2f, 0xfd], Coding::Zstd),
];
/// UTF-8 has no byte order; some editors write the mark all the same.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const BUFFER: usize = 1 << 18;
/// Decoded bytes between two calls of `on_bytes`.
const REPORT_EVERY: u64 = 1 << 23;

/// Calls `on_line` with each line that is not blank, without its newline.
/// Says whether the last one broke off; that one counts as absent.
pub(super) fn for_each_line<E: From<TraceError>>(
    path: &Path,
    mut on_bytes: impl FnMut(u64) -> Result<(), E>,
    mut on_line: impl FnMut(&[u8]) -> Result<(), LineError>,
) -> Result<bool, E> {
    let io_error = |source| TraceError::Io {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(io_error)?;
    let (mut lines, coding) = decoded(&file).map_err(io_error)?;

    let mut text = Vec::new();
    let mut number = 0;
    let mut torn: Option<TraceError> = None;
    let (mut unreported, mut position) = (0, 0);
    let mut report = || {
        // A pipe has no position.
        let now = (&file).stream_position().unwrap_or(0);
        on_bytes(now - std::mem::replace(&mut position, now))
    };
    loop {
        text.clear();
        let line_error = |number, reason| TraceError::Line {
            path: path.to_owned(),
            line: number,
            reason,
        };
        number += 1;
        let read = lines.read_until(b'\n', &mut text).map_err(|error| {
            // What has no error number comes from the decoder.
            match error.raw_os_error() {
                Some(_) => io_error(error),
                None => line_error(number, format!("damaged {coding} stream: {error}")),
            }
        })?;
        if read == 0 {
            break;
        }
        unreported += read as u64;
        if unreported >= REPORT_EVERY {
            unreported = 0;
            report()?;
        }
        let mut text = text.trim_ascii_end();
        if number == 1 {
            text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        }
        if text.is_empty() {
            continue;
        }
        if let Some(error) = torn.take() {
            // It was not the last line after all.
            return Err(error.into());
        }
        if let Err(error) = on_line(text) {
            let at = line_error(number, error.reason);
            if !error.torn {
                return Err(at.into());
            }
            torn = Some(at);
        }
    }
    report()?;
    Ok(torn.is_some())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Plain,
    Gzip,
    Zstd,
}

impl fmt::Display for Coding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// The content of a file, unpacked where its first bytes say how.
fn decoded(file: &File) -> io::Result<(Box<dyn BufRead + '_>, Coding)> {
    let mut raw = BufReader::with_capacity(BUFFER, file);
    let mut start = Vec::new();
    // Not `fill_buf`: a pipe may hand over a single byte.
    raw.by_ref().take(4).read_to_end(&mut start)?;
    let known = MAGICS.iter().find(|(magic, _)| start.starts_with(magic));
    let coding = known.map_or(Coding::Plain, |(_, coding)| *coding);
    let whole = Cursor::new(start).chain(raw);
    let unpacked: Box<dyn Read> = match coding {
        Coding::Plain => return Ok((Box::new(whole), coding)),
        Coding::Gzip => Box::new(MultiGzDecoder::new(whole)),
        Coding::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(whole)?),
    };
    Ok((Box::new(BufReader::with_capacity(BUFFER, unpacked)), coding))
}
