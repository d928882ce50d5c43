//! What an algorithm is.
#[derive(Clone, Debug)]
pub(crate) struct Rule;
impl Rule {
    pub(crate) fn new(_: &crate::limit::Algorithm) -> Rule {
        Rule
    }
}
