//! Answers every row of the files named on its command line (`topic=path …`), one line each:
//! topic, row number, and the answer as a JSON text, with tabs between.
use std::env;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vectors-native: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for argument in env::args().skip(1) {
        let (topic, path) =
            argument.split_once('=').ok_or_else(|| io::Error::other("usage: vectors-native topic=path …"))?;
        let text = fs::read_to_string(path)?;
        // A file of lines is a row a line; any other is one row.
        let rows: Vec<&str> = if path.ends_with(".jsonl") { text.lines().collect() } else { vec![&text] };
        for (number, row) in rows.into_iter().enumerate() {
            let answer = serde_json::Value::from(brooklet_vectors::answer(topic, row));
            writeln!(out, "{topic}\t{number}\t{answer}")?;
        }
    }
    out.flush()
}
