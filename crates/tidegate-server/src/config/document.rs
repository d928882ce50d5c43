//! A YAML text as a tree of nodes that remember where they were written.
//!
//! Scalars stay text: whether `0.1` is a rate or a name is for the reader of the field to say, and a
//! decimal must not pass through a double on its way.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use granit_parser::{Event, Marker, Parser, ScalarStyle, Span, options};

/// A value and where it came from.
#[derive(Clone)]
pub(super) struct Node<'a> {
    pub(super) value: Value<'a>,
    pub(super) origin: Origin<'a>,
}

/// A field of a mapping: its name and its value.
pub(super) type Entry<'a> = (Rc<Node<'a>>, Rc<Node<'a>>);

/// What a node holds. Children are shared, so that an alias costs no copy.
#[derive(Clone)]
pub(super) enum Value<'a> {
    /// Text, and whether it was written as text (quoted, or as a block).
    Scalar { text: Cow<'a, str>, quoted: bool },
    /// A list.
    Sequence(Vec<Rc<Node<'a>>>),
    /// Fields, in order, no two of one name.
    Mapping(Vec<Entry<'a>>),
}

/// Where a value was given; later ones outrank earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin<'a> {
    /// Nobody gave it.
    Default,
    /// In the file, between two byte offsets.
    File { start: usize, end: usize },
    /// By an environment variable of this name.
    Variable(&'a str),
    /// By a flag of this name.
    Flag(&'a str),
}

impl Origin<'_> {
    /// Which of two values of one field counts: the one of the higher rank.
    pub(super) fn rank(self) -> u8 {
        match self {
            Origin::Default => 0,
            Origin::File { .. } => 1,
            Origin::Variable(_) => 2,
            Origin::Flag(_) => 3,
        }
    }
}

impl<'a> Node<'a> {
    /// An unquoted scalar.
    pub(super) fn plain(text: &'a str, origin: Origin<'a>) -> Node<'a> {
        let text = Cow::Borrowed(text);
        Node { value: Value::Scalar { text, quoted: false }, origin }
    }

    /// A mapping without fields.
    pub(super) fn empty(origin: Origin<'a>) -> Node<'a> {
        Node { value: Value::Mapping(Vec::new()), origin }
    }

    /// The text of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Whether the value was left out: `key:` alone, `~` or `null`.
    pub(super) fn is_null(&self) -> bool {
        match &self.value {
            Value::Scalar { text, quoted } => {
                !quoted && matches!(&**text, "" | "~" | "null" | "Null" | "NULL")
            }
            _ => false,
        }
    }
}

/// Why a text is no document: the byte offsets to point at, the reason, and what would be right.
pub(super) struct Fault {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) reason: String,
    pub(super) help: Option<&'static str>,
}

impl Fault {
    fn new(span: Span, reason: impl Into<String>, help: &'static str) -> Fault {
        Fault {
            start: offset(span.start),
            end: offset(span.end),
            reason: reason.into(),
            help: Some(help),
        }
    }
}

/// Reads the one document of a text; nothing when it holds none.
pub(super) fn parse(text: &str) -> Result<Option<Rc<Node<'_>>>, Fault> {
    let options = options! { disallow_directives: true, emit_comments: false };
    let mut tree = Tree::default();
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|error| Fault {
            start: offset(*error.marker()),
            end: offset(*error.marker()),
            reason: format!("this is not YAML: {}", error.info()),
            help: None,
        })?;
        tree.take(event, span)?;
    }
    Ok(tree.root)
}

/// The byte that a mark stands at.
fn offset(mark: Marker) -> usize {
    mark.byte_offset().unwrap_or_default()
}

/// The document as far as it has been read.
#[derive(Default)]
struct Tree<'a> {
    documents: usize,
    root: Option<Rc<Node<'a>>>,
    open: Vec<Branch<'a>>,
    anchors: HashMap<usize, Rc<Node<'a>>>,
}

/// A list or mapping whose end has not been read yet.
struct Branch<'a> {
    node: Node<'a>,
    anchor: usize,
    /// The field whose value comes next.
    key: Option<Rc<Node<'a>>>,
    /// The names of a mapping's fields so far.
    names: HashSet<String>,
}

impl<'a> Tree<'a> {
    fn take(&mut self, event: Event<'a>, span: Span) -> Result<(), Fault> {
        if event.tag().is_some() {
            return Err(Fault::new(
                span,
                "tags (!name) are not supported",
                "write the plain value",
            ));
        }
        match event {
            Event::DocumentStart(..) => self.begin_document(span),
            Event::Scalar(text, style, anchor, _) => {
                let quoted = style != ScalarStyle::Plain;
                self.add(node(Value::Scalar { text, quoted }, span), anchor)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(Value::Sequence(Vec::new()), anchor, span);
                Ok(())
            }
            Event::MappingStart(_, anchor, _) => {
                self.begin(Value::Mapping(Vec::new()), anchor, span);
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(branch) => self.add(branch.node, branch.anchor),
                None => Ok(()),
            },
            Event::Alias(id) => self.alias(id, span),
            _ => Ok(()),
        }
    }

    fn begin_document(&mut self, span: Span) -> Result<(), Fault> {
        self.documents += 1;
        if self.documents > 1 {
            return Err(Fault::new(
                span,
                "a second document begins here",
                "one file holds one configuration: remove the ---",
            ));
        }
        Ok(())
    }

    fn begin(&mut self, value: Value<'a>, anchor: usize, span: Span) {
        // Where a list or mapping begins says enough; its whole extent is too much to underline.
        let start = Span::empty(span.start);
        self.open.push(Branch {
            node: node(value, start),
            anchor,
            key: None,
            names: HashSet::new(),
        });
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<(), Fault> {
        let Some(target) = self.anchors.get(&id).cloned() else {
            return Err(Fault::new(
                span,
                "this alias stands inside of what it refers to",
                "write the value out",
            ));
        };
        self.attach(target)
    }

    /// Adds a finished node to the innermost open list or mapping.
    fn add(&mut self, node: Node<'a>, anchor: usize) -> Result<(), Fault> {
        let node = Rc::new(node);
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        self.attach(node)
    }

    fn attach(&mut self, node: Rc<Node<'a>>) -> Result<(), Fault> {
        let Some(branch) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut branch.node.value, branch.key.take()) {
            (Value::Sequence(items), _) => items.push(node),
            (Value::Mapping(entries), Some(key)) => entries.push((key, node)),
            (Value::Mapping(_), None) => {
                check_key(&node, &mut branch.names)?;
                branch.key = Some(node);
            }
            // A branch is a list or a mapping, never a scalar.
            (Value::Scalar { .. }, _) => {}
        }
        Ok(())
    }
}

/// Refuses a field name that is no text, or was there before.
fn check_key(key: &Node<'_>, names: &mut HashSet<String>) -> Result<(), Fault> {
    let (start, end) = match key.origin {
        Origin::File { start, end } => (start, end),
        _ => (0, 0),
    };
    let refuse = |reason: String, help| Err(Fault { start, end, reason, help: Some(help) });
    let Some(name) = key.text() else {
        return refuse(
            "a field's name must be a word".into(),
            "write it like `name: value`; text that begins with [ or { needs quotes",
        );
    };
    if name == "<<" {
        return refuse(
            "merge keys (<<) are not supported".into(),
            "write the fields out, or refer to the whole value with an alias (*name)",
        );
    }
    if !names.insert(name.to_owned()) {
        let shown: String = name.chars().take(64).collect();
        return refuse(format!("`{shown}` is given twice"), "remove one of the two");
    }
    Ok(())
}

fn node(value: Value<'_>, span: Span) -> Node<'_> {
    let (start, end) = (offset(span.start), offset(span.end));
    Node { value, origin: Origin::File { start, end } }
}
