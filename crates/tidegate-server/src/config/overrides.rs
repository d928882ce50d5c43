//! Values from outside the file, put over what it says before it is read, so that one reader checks
//! them all and each fault names where its value came from.

use std::rc::Rc;

use super::document::{Node, Origin, Value};

/// A value for one field, from a variable or a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override<'a> {
    path: &'a str,
    name: &'a str,
    text: &'a str,
    is_flag: bool,
}

impl<'a> Override<'a> {
    /// A flag, such as `--listen-http`, that sets the field at `path`, such as `listen.http`.
    #[must_use]
    pub fn flag(path: &'a str, name: &'a str, text: &'a str) -> Override<'a> {
        let is_flag = true;
        Override { path, name, text, is_flag }
    }

    pub(super) fn variable(path: &'a str, name: &'a str, text: &'a str) -> Override<'a> {
        let is_flag = false;
        Override { path, name, text, is_flag }
    }

    /// Puts the value where it belongs in the tree.
    pub(super) fn apply(&self, root: &mut Rc<Node<'a>>) {
        let origin = match self.is_flag {
            true => Origin::Flag(self.name),
            false => Origin::Variable(self.name),
        };
        let value = Rc::new(Node::plain(self.text, origin));
        graft(Rc::make_mut(root), self.path, value);
    }
}

/// Sets the field at `path` below `node`. What is no mapping stays as it is, for the reader to refuse,
/// except a section that is off.
fn graft<'a>(node: &mut Node<'a>, path: &'a str, value: Rc<Node<'a>>) {
    if node.text().is_some_and(|text| matches!(text, "off" | "false")) {
        *node = Node::empty(value.origin);
    }
    let Value::Mapping(entries) = &mut node.value else {
        return;
    };
    let (head, rest) = match path.split_once('.') {
        Some((head, rest)) => (head, Some(rest)),
        None => (path, None),
    };
    let origin = value.origin;
    let place = entries.iter().position(|(key, _)| key.text() == Some(head));
    let place = place.unwrap_or_else(|| {
        let key = Rc::new(Node::plain(head, origin));
        entries.push((key, Rc::new(Node::empty(origin))));
        entries.len() - 1
    });
    match rest {
        Some(rest) => graft(Rc::make_mut(&mut entries[place].1), rest, value),
        None => entries[place].1 = value,
    }
}
