//! Snapshots in files.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use super::HEADER;

/// Writes `bytes` so that at any moment, and after a crash at any moment, the
/// file at `path` is either what it was or `bytes` as a whole.
///
/// They go into a new file in the same folder, which is synced and then renamed
/// over `path`; then the folder is synced. The new file is removed when that
/// fails; a process killed in between leaves it behind, under a name like
/// `.toggle-4711-0.tmp`. Where `path` is a link to a file, it stays one, and that
/// file is replaced. The permissions stay those of the file that was there.
///
/// # Errors
/// What the file system says; and where there is something at `path` that is no
/// file, a device for example.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    if path.file_name().is_none() {
        return Err(ErrorKind::IsADirectory.into());
    }
    let (path, permissions) = destination(path)?;
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let (mut file, aside) = create_aside(folder)?;
    let allowed = permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions));
    let written = allowed
        .and_then(|()| file.write_all(bytes))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&aside, &path));
    if let Err(error) = written {
        // The first error is the one to tell of.
        let _ = fs::remove_file(&aside);
        return Err(error);
    }
    sync_folder(folder)
}

/// The place to rename to, and the permissions of what is there.
fn destination(path: &Path) -> Result<(PathBuf, Option<Permissions>)> {
    let Ok(found) = fs::metadata(path) else {
        return Ok((path.to_owned(), None)); // Nothing yet, or what renaming will say.
    };
    // A superuser could put a file in place of /dev/null.
    if !found.is_file() && !found.is_dir() {
        return Err(Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    let place = if path.is_symlink() {
        fs::canonicalize(path)?
    } else {
        path.to_owned()
    };
    Ok((place, Some(found.permissions())))
}

/// A new file with a name that nobody else writes to.
fn create_aside(folder: &Path) -> Result<(File, PathBuf)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let aside = folder.join(format!(".toggle-{}-{number}.tmp", process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&aside) {
            // Left behind, or of a process with this id on another machine.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            result => return Ok((result?, aside)),
        }
    }
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder)?.sync_all()
}

/// Elsewhere a folder cannot be opened, and renaming is journaled.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> Result<()> {
    Ok(())
}

/// Reads the snapshot at `path`, for `from_bytes` to check. Of a file that does
/// not begin as one no more than the header is read.
///
/// # Errors
/// What the file system says.
pub fn read_file(path: &Path) -> Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    Read::by_ref(&mut file)
        .take(HEADER as u64)
        .read_to_end(&mut bytes)?;
    if let Ok((_, len)) = super::header(&bytes) {
        // One byte more gives away that there are some after the end.
        let rest = len.saturating_sub(HEADER as u64).saturating_add(1);
        file.take(rest).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
