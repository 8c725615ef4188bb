//! Which field of a line holds what.

/// What the length of a response is, where a line has its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Count {
    /// Tokens: a text has none, and is refused.
    #[default]
    Tokens,
    /// Words of a text: what white space separates.
    Words,
    /// Characters of a text: Unicode scalar values.
    Characters,
}

/// The names of the fields that hold the columns.
///
/// Fields are those of the line itself, not of an object inside. One field may
/// serve for several columns.
///
/// ```
/// use toggle_rs::traces::{Count, Fields, Reader, TraceError};
///
/// let path = std::env::temp_dir().join("toggle_rs_fields_example.jsonl");
/// std::fs::write(&path, r#"{"it": 4, "uid": "p-17", "n": 321, "score": true}"#)?;
/// let fields = Fields {
///     step: "it".into(),
///     sample: None,
///     group: "uid".into(),
///     dataset: None,
///     reward: "score".into(),
///     length: "n".into(),
///     count: Count::Tokens,
/// };
/// let mut reader = Reader::new(fields);
/// reader.read_file(&path, |_| Ok::<(), TraceError>(()))?;
/// let rollouts = reader.finish()?;
/// assert_eq!((rollouts.step[0], rollouts.length[0], rollouts.reward[0]), (4, 321, 1.0));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// Training step: an integer.
    pub step: String,
    /// Place of the sample in its step: an integer; a repeated one replaces the
    /// earlier row. `None`: samples are numbered as they come, and none is
    /// taken for a repeated one.
    pub sample: Option<String>,
    /// Group within the step: an integer, or a text, such as an id or the
    /// prompt itself.
    pub group: String,
    /// Dataset: a text, or a list of texts. `None`: all rows are of one, "all".
    pub dataset: Option<String>,
    /// Reward: a finite number, or a boolean.
    pub reward: String,
    /// Length: an integer, a list of tokens, or with `count` a text.
    pub length: String,
    /// How a text is measured.
    pub count: Count,
}

impl Default for Fields {
    /// Those of open-instruct's traces.
    fn default() -> Self {
        Self {
            step: "step".into(),
            sample: Some("sample_idx".into()),
            group: "prompt_idx".into(),
            dataset: Some("dataset".into()),
            reward: "reward".into(),
            length: "response_tokens".into(),
            count: Count::Tokens,
        }
    }
}

/// The columns that a field can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Step,
    Sample,
    Group,
    Length,
    Reward,
    Dataset,
}

/// A set of roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Roles(u8);

impl Roles {
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn has(self, role: Role) -> bool {
        self.0 >> role as u8 & 1 == 1
    }
}

impl Fields {
    /// The roles that a line must fill, and the names of their fields.
    pub(super) fn roles(&self) -> impl Iterator<Item = (Role, &str)> {
        [
            (Role::Step, Some(&self.step)),
            (Role::Sample, self.sample.as_ref()),
            (Role::Group, Some(&self.group)),
            (Role::Length, Some(&self.length)),
            (Role::Reward, Some(&self.reward)),
            (Role::Dataset, self.dataset.as_ref()),
        ]
        .into_iter()
        .filter_map(|(role, name)| Some((role, name?.as_str())))
    }

    /// The roles of the field `name`.
    pub(super) fn roles_of(&self, name: &str) -> Roles {
        let own = self.roles().filter(|(_, own)| *own == name);
        Roles(own.fold(0, |roles, (role, _)| roles | 1 << role as u8))
    }
}
