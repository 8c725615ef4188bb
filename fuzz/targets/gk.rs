//! To come.

#![cfg_attr(fuzzing, no_main)]

fn run(_: Vec<u8>) {}

toggle_rs_fuzz::target!(run, Vec<u8>);
