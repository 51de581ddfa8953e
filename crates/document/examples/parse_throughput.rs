//! Prints how fast documents with an embedding of 384 floats are read, and how fast their number arrays alone are.
//!
//! `cargo run --release -p brooklet-document --example parse_throughput`
use std::sync::Arc;
use std::time::Instant;

use brooklet_document::json::{FieldTypes, Lexer, ReadOptions, TensorSource, read_fields, read_tensor};
use brooklet_document::{DataType, DocumentId};
use brooklet_task::Code;

struct Note {
    text: DataType,
    embedding: DataType,
}

impl FieldTypes for Note {
    fn data_type(&self, field: &str) -> Option<&DataType> {
        match field {
            "text" => Some(&self.text),
            "embedding" => Some(&self.embedding),
            _ => None,
        }
    }

    fn names(&self) -> Vec<&str> {
        vec!["text", "embedding"]
    }
}

/// Numbers in [-1, 1) that look random.
fn numbers(seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    })
}

fn array(seed: u64, print: Print) -> String {
    let numbers: Vec<String> = numbers(seed).take(384).map(print).collect();
    format!("[{}]", numbers.join(","))
}

/// Runs `work` over all texts again and again; the best pass of each counts, so that what else the machine does hardly
/// matters.
fn measure(name: &str, texts: &[String], work: impl Fn(&str)) {
    let bytes: usize = texts.iter().map(String::len).sum();
    let mut best_of_each = vec![f64::INFINITY; texts.len()];
    for _ in 0..100 {
        for (text, best) in texts.iter().zip(&mut best_of_each) {
            let start = Instant::now();
            work(text);
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    let best: f64 = best_of_each.iter().sum();
    println!("{name}: {:.0} per second, {:.0} MB/s", texts.len() as f64 / best, bytes as f64 / best / 1e6);
}

type Print = fn(f64) -> String;

fn main() {
    let forms: [(&str, Print); 3] = [
        ("9 decimals", |number| format!("{number:.9}")),
        ("shortest float32", |number| (number as f32).to_string()),
        ("shortest float64", |number| number.to_string()),
    ];
    let tensor_type = Arc::new("tensor<float>(x[384])".parse().expect("a tensor type"));
    let note = Note { text: DataType::String, embedding: DataType::Tensor(Arc::clone(&tensor_type)) };
    let id = DocumentId::parse("id:ns:note:g=me:1").expect("an id");
    let words = "the quick brown fox jumps over the lazy dog ".repeat(20);
    for (name, print) in forms {
        let arrays: Vec<String> = (0..100).map(|seed| array(seed, print)).collect();
        measure(&format!("384 floats, {name}"), &arrays, |text| {
            let mut json = Lexer::new(text, Code::BadRequest);
            let tensor = read_tensor(&tensor_type, &mut json, TensorSource::Document).expect("a tensor");
            assert_eq!(tensor.cells.len(), 384);
        });
        let documents: Vec<String> = arrays
            .iter()
            .map(|array| format!("{{\"fields\":{{\"text\":\"{words}\",\"embedding\":{{\"values\":{array}}}}}}}"))
            .collect();
        measure(&format!("documents, {name}"), &documents, |text| {
            let body = read_fields(&note, &id, text.as_bytes(), ReadOptions::default()).expect("a document");
            assert_eq!(body.fields.len(), 2);
        });
    }
}
