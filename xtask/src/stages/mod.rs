//! Cuts the core in three stages (docs/decisions/0184): what a process calls until its first search is done, the *start*; what small
//! programs call beside, *more*; and the *rest*. Each is compiled when a function of it is called first. They are made of pieces of the
//! whole when they are loaded, by a recipe; who does not know the recipe loads the whole.

mod cut;
mod order;
mod outline;
mod recipe;

use std::collections::BTreeSet;

use order::Order;
pub use order::names_of;
pub use outline::Outline;

/// The functions that are called early.
pub struct Called {
    /// Until a first search is done.
    pub start: BTreeSet<u32>,
    /// What small programs call, or may call with other values.
    pub more: BTreeSet<u32>,
}

/// A core of which stages can be made.
pub struct Staged {
    /// The whole of it.
    pub module: Vec<u8>,
    /// The names of its functions.
    pub names: Vec<u8>,
    /// How its stages are made of it.
    pub recipe: Vec<u8>,
    /// Bytes of each stage.
    pub lengths: [usize; 3],
}

/// Stages of `module`; `names` is a module of its functions' names.
pub fn staged(module: &[u8], names: &[u8], called: &Called) -> Result<Staged, String> {
    let order = Order::of(&Outline::read(module)?, called, names)?;
    let module = recipe::signed(&order.applied(module)?);
    let stages = cut::stages(&module, &order)?;
    Ok(Staged {
        names: order.applied_to_names(names)?,
        recipe: stages.recipe(&module)?,
        lengths: stages.modules(&module)?.map(|stage| stage.len()),
        module,
    })
}

#[cfg(test)]
mod tests;
