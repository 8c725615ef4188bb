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

#[cfg(fuzzing)]
pub use libfuzzer_sys;

/// Makes a binary of `$run`, a function of the arbitrary `$input`, or of the
/// bytes as they are. Under cargo-fuzz it is libFuzzer; else it runs once what
/// is in the files, and the files of the folders, that are its arguments.
#[macro_export]
macro_rules! target {
    ($run:path) => {
        #[cfg(fuzzing)]
        $crate::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $run(bytes));

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            $crate::replay_arguments($run)
        }
    };
    ($run:path, $input:ty) => {
        #[cfg(fuzzing)]
        $crate::libfuzzer_sys::fuzz_target!(|input: $input| $run(input));

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            $crate::replay_arguments(|bytes| {
                // As libFuzzer's glue has it: bytes that are too few are passed over.
                let bytes = arbitrary::Unstructured::new(bytes);
                if let Ok(input) = arbitrary::Arbitrary::arbitrary_take_rest(bytes) {
                    $run(input);
                }
            })
        }
    };
}

/// Runs once what is in the files and folders that are the arguments.
///
/// # Errors
/// When one cannot be read.
pub fn replay_arguments(run: impl Fn(&[u8])) -> std::io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    arguments.try_for_each(|path| replay(path.as_ref(), &run))
}

fn replay(path: &Path, run: &impl Fn(&[u8])) -> std::io::Result<()> {
    if path.is_dir() {
        for entry in path.read_dir()? {
            replay(&entry?.path(), run)?;
        }
        return Ok(());
    }
    println!("{}", path.display());
    run(&std::fs::read(path)?);
    Ok(())
}
