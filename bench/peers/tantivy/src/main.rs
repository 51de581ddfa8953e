//! The process of tantivy: one index, in which the group is a term that has to match and counts nothing. Obeys the lines that `child.mjs`
//! says, and answers as it does. What is put is committed at once, and the reader loaded anew.
use std::fs;
use std::io::{BufRead, Write};
use std::ops::Bound;
use std::time::Instant;

use serde_json::{Value as Json, json};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, ConstScoreQuery, Occur, Query, RangeQuery, TermQuery};
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, Term, doc};

const TOP: usize = 10;
const SPAN: u64 = 100_000;
const WRITER_BYTES: usize = 256_000_000;

struct Fields {
    number: Field,
    group: Field,
    time: Field,
    body: Field,
}

struct Peer {
    index: Index,
    reader: IndexReader,
    fields: Fields,
    corpus: String,
    shape: Json,
    writer: Option<IndexWriter>,
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn processor() -> f64 {
    // SAFETY: the call fills what it is given, and all zeroes are a valid value of it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let of = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    of(usage.ru_utime) + of(usage.ru_stime)
}

fn memory() -> Json {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mebibytes = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1)).and_then(|count| count.parse::<u64>().ok()).unwrap_or(0) / 1024
    };
    json!({"rssMiB": mebibytes("VmRSS"), "anonymousMiB": mebibytes("RssAnon"), "peakMiB": mebibytes("VmHWM")})
}

fn numbers(path: &str) -> Vec<u32> {
    let bytes = fs::read(path).expect("the corpus is there");
    bytes.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().expect("four bytes"))).collect()
}

impl Peer {
    fn open(corpus: &str, folder: &str) -> tantivy::Result<Self> {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default().set_tokenizer("default").set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let fields = Fields {
            number: schema.add_u64_field("number", STORED | FAST),
            group: schema.add_u64_field("group", INDEXED),
            time: schema.add_u64_field("time", FAST | INDEXED),
            body: schema.add_text_field("body", TextOptions::default().set_indexing_options(indexing).set_stored()),
        };
        let directory = tantivy::directory::MmapDirectory::open(folder)?;
        let index = Index::open_or_create(directory, schema.build())?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let shape = serde_json::from_slice(&fs::read(format!("{corpus}/corpus.json"))?).map_err(std::io::Error::from)?;
        Ok(Self { index, reader, fields, corpus: corpus.to_owned(), shape, writer: None })
    }

    fn add(&self, writer: &IndexWriter, number: u64, group: u64, time: u64, body: &str) -> tantivy::Result<()> {
        let Fields { number: n, group: g, time: t, body: b } = self.fields;
        writer.add_document(doc!(n => number, g => group, t => time, b => body)).map(|_| ())
    }

    fn feed(&mut self) -> tantivy::Result<Json> {
        let (start, cpu) = (Instant::now(), processor());
        let mut writer = self.index.writer_with_num_threads(1, WRITER_BYTES)?;
        let groups = numbers(&format!("{}/groups.u32", self.corpus));
        let times = numbers(&format!("{}/times.u32", self.corpus));
        let bodies = fs::read_to_string(format!("{}/bodies.txt", self.corpus))?;
        for (number, body) in bodies.lines().enumerate() {
            self.add(&writer, number as u64, u64::from(groups[number]), u64::from(times[number]), body)?;
        }
        writer.commit()?;
        let (ms, cpu_ms) = (milliseconds(start), processor() - cpu);
        writer.wait_merging_threads()?;
        Ok(json!({"documents": groups.len(), "ms": ms, "cpuMs": cpu_ms, "settledMs": milliseconds(start), "peakMiB": memory()["peakMiB"]}))
    }

    fn query(&self, group: u64, words: &[&str], from: Option<u64>) -> BooleanQuery {
        let counts_nothing = |query: Box<dyn Query>| -> (Occur, Box<dyn Query>) { (Occur::Must, Box::new(ConstScoreQuery::new(query, 0.0))) };
        let of_group = Term::from_field_u64(self.fields.group, group);
        let mut all = vec![counts_nothing(Box::new(TermQuery::new(of_group, IndexRecordOption::Basic)))];
        let any = words.iter().map(|word| {
            let term = Term::from_field_text(self.fields.body, word);
            (Occur::Should, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)) as Box<dyn Query>)
        });
        all.push((Occur::Must, Box::new(BooleanQuery::new(any.collect()))));
        if let Some(low) = from {
            let time = |at| Term::from_field_u64(self.fields.time, at);
            all.push(counts_nothing(Box::new(RangeQuery::new(Bound::Included(time(low)), Bound::Excluded(time(low + SPAN))))));
        }
        BooleanQuery::new(all)
    }

    fn found(&self, query: &BooleanQuery) -> tantivy::Result<Vec<u64>> {
        let searcher = self.reader.searcher();
        let top = searcher.search(query, &TopDocs::with_limit(TOP).order_by_score())?;
        let number = |address| {
            let document: TantivyDocument = searcher.doc(address)?;
            Ok(document.get_first(self.fields.number).and_then(|value| value.as_u64()).unwrap_or(u64::MAX))
        };
        top.into_iter().map(|(_, address)| number(address)).collect()
    }

    fn search(&self, request: &Json) -> tantivy::Result<Json> {
        let kind = request["kind"].as_str().unwrap_or_default();
        let queries = self.shape["queries"].as_array().expect("queries");
        let (from, count) = (request["from"].as_u64().unwrap_or(0) as usize, request["count"].as_u64().unwrap_or(0) as usize);
        let (mut taken, mut answers, cpu) = (Vec::new(), Vec::new(), processor());
        for turn in from..from + count {
            let asked = &queries[turn % queries.len()];
            let start = Instant::now();
            let words: Vec<&str> = asked["words"][kind].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
            let low = (kind == "words-filter").then(|| asked["low"].as_u64().unwrap_or(0));
            answers.push(self.found(&self.query(asked["group"].as_u64().unwrap_or(0), &words, low))?);
            taken.push(milliseconds(start));
        }
        Ok(json!({"ms": taken, "cpuMs": processor() - cpu, "answers": answers}))
    }

    fn commit(&mut self, change: impl FnOnce(&Self, &IndexWriter) -> tantivy::Result<()>) -> tantivy::Result<()> {
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.index.writer_with_num_threads(1, WRITER_BYTES / 4)?,
        };
        change(self, &writer)?;
        writer.commit()?;
        self.writer = Some(writer);
        self.reader.reload()
    }

    fn put(&mut self, count: u64) -> tantivy::Result<Json> {
        let (mut taken, mut seen) = (Vec::new(), 0);
        for turn in 0..count {
            let group = self.shape["queries"][turn as usize % 100]["group"].as_u64().unwrap_or(0);
            let (number, word) = (10_000_000 + turn, format!("zzq{turn}"));
            let body = format!("{word} and some other words");
            let start = Instant::now();
            self.commit(|peer, writer| peer.add(writer, number, group, 500_000, &body))?;
            taken.push(milliseconds(start));
            let found = self.found(&self.query(group, &[&word], None))?;
            seen += u64::from(found.first() == Some(&number));
        }
        Ok(json!({"ms": taken, "seen": seen}))
    }

    fn erase(&mut self, request: &Json) -> tantivy::Result<Json> {
        let group = request["group"].as_u64().unwrap_or(0);
        let start = Instant::now();
        self.commit(|peer, writer| {
            writer.delete_term(Term::from_field_u64(peer.fields.group, group));
            Ok(())
        })?;
        let ms = milliseconds(start);
        let kind = request["kind"].as_str().unwrap_or_default();
        let queries = self.shape["queries"].as_array().expect("queries");
        let asked = queries.iter().find(|query| query["group"] == request["group"]).unwrap_or(&Json::Null);
        let words: Vec<&str> = asked["words"][kind].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        Ok(json!({"ms": ms, "left": self.found(&self.query(group, &words, None))?.len()}))
    }

    fn answer(&mut self, request: &Json) -> tantivy::Result<Json> {
        match request["do"].as_str().unwrap_or_default() {
            "feed" => self.feed(),
            "open" => {
                let start = Instant::now();
                self.reader.reload()?;
                Ok(json!({"ms": milliseconds(start), "version": "tantivy 0.27.0"}))
            }
            "search" => self.search(request),
            "put" => self.put(request["count"].as_u64().unwrap_or(0)),
            "erase" => self.erase(request),
            "memory" => Ok(memory()),
            _ => Ok(json!({})),
        }
    }
}

fn main() -> tantivy::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let mut peer = Peer::open(&words[2], &words[3])?;
    for line in std::io::stdin().lock().lines() {
        let request: Json = serde_json::from_str(&line?).map_err(std::io::Error::from)?;
        let answer = peer.answer(&request).unwrap_or_else(|failure| json!({"error": failure.to_string()}));
        println!("@{answer}");
        std::io::stdout().flush()?;
        if request["do"] == "close" {
            break;
        }
    }
    Ok(())
}
