//! What the repository's tasks know of WebAssembly modules and of the generator's scripts, without the generator: it is large, and
//! no test needs it.
#![forbid(unsafe_code)]

pub mod cold;
pub mod glue;
pub mod kinds;
pub mod module;
pub mod stages;
