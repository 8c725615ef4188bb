//! What the fuzz targets share: how they are run, and values to try.
//!
//! A target turns bytes into calls and compares every answer with the oracle
//! that the tests have, so that it finds wrong answers as well as panics.

#[path = "../../tests/rust/oracle/mod.rs"]
pub mod oracle;
#[path = "../../tests/rust/seal.rs"]
pub mod seal;
pub mod states;
pub mod values;

use std::path::Path;

use arbitrary::{Arbitrary, Unstructured};

#[cfg(fuzzing)]
pub use libfuzzer_sys;

/// Makes a binary of `$run`, a function of the arbitrary `$input`. Under
/// cargo-fuzz it is libFuzzer; else it runs once what is in the files, and the
/// files of the folders, that are its arguments.
#[macro_export]
macro_rules! target {
    ($run:path, $input:ty) => {
        #[cfg(fuzzing)]
        $crate::libfuzzer_sys::fuzz_target!(|input: $input| $run(input));

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            for path in std::env::args_os().skip(1) {
                $crate::replay(path.as_ref(), $run)?;
            }
            Ok(())
        }
    };
}

/// Runs once what is in a file, or in all files of a folder.
///
/// # Errors
/// When it cannot be read.
pub fn replay<T: for<'a> Arbitrary<'a>>(path: &Path, run: fn(T)) -> std::io::Result<()> {
    if path.is_dir() {
        for entry in path.read_dir()? {
            replay(&entry?.path(), run)?;
        }
        return Ok(());
    }
    println!("{}", path.display());
    let bytes = std::fs::read(path)?;
    // As libFuzzer's glue has it: bytes that are too few are passed over.
    if let Ok(input) = T::arbitrary_take_rest(Unstructured::new(&bytes)) {
        run(input);
    }
    Ok(())
}
