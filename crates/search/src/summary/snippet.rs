//! placeholder until the snippet module is placed
use brooklet_query::tree::Item;
use brooklet_schema::Normalizing;
pub(crate) struct Highlighter {}
impl Highlighter {
    pub(crate) fn new(_: &Item, _: Normalizing, _: bool, _: &dyn Fn(&str) -> bool) -> Highlighter {
        Highlighter {}
    }
    pub(crate) fn dynamic(&self, text: &str, _: bool) -> String {
        text.to_owned()
    }
    pub(crate) fn bolded(&self, text: &str, _: bool) -> String {
        text.to_owned()
    }
}
