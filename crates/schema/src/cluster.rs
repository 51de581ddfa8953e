//! Content clusters: which document types they store, and how.

use crate::snippet_settings::SnippetConfig;

/// A content cluster of services.xml.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentCluster {
    /// Its id.
    pub name: String,
    /// The document types it stores.
    pub types: Vec<DocumentTypeConfig>,
    /// `search/query-timeout`: default timeout of its queries, milliseconds.
    pub query_timeout_ms: Option<u32>,
    /// `documents@selection`: only documents it selects are stored.
    pub selection: Option<String>,
    /// `documents@garbage-collection` with its interval, seconds: documents that the selections do not select any more
    /// are removed so often.
    pub garbage_collection_s: Option<u32>,
    /// `tuning/max-document-size`, bytes.
    pub max_document_bytes: Option<u64>,
    /// How teasers are made.
    pub snippets: SnippetConfig,
}

/// A document type of a content cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentTypeConfig {
    /// Its name.
    pub name: String,
    /// How it is served. Those with an index of all groups do not deploy.
    pub mode: Mode,
    /// `document@selection`: only documents it selects are stored.
    pub selection: Option<String>,
}

/// How a document type is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One partition per group, read as a whole.
    Streaming,
    /// Stored and got, not queried.
    StoreOnly,
}
