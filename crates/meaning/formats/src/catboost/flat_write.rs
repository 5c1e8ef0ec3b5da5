//! Writes flatbuffers from front to back: a table comes before everything that it points to.

/// A field of a table.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    /// The field is absent.
    None,
    U8(u8),
    I32(i32),
    F64(f64),
    /// Points to something that is written later.
    Offset,
}

impl Field {
    fn size(self) -> usize {
        match self {
            Self::None => 0,
            Self::U8(_) => 1,
            Self::I32(_) | Self::Offset => 4,
            Self::F64(_) => 8,
        }
    }
}

/// A buffer that grows.
#[derive(Debug, Default)]
pub(super) struct FlatWriter {
    bytes: Vec<u8>,
    /// The place of an offset that is to point to what is written next.
    waiting: Option<usize>,
    /// Where the position lists of tables are. There are only as many as kinds of tables.
    lists: Vec<usize>,
}

impl FlatWriter {
    /// A buffer with the offset to its root, at place 0.
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; 4], waiting: Some(0), lists: Vec::new() }
    }

    /// Makes the offset at `place` point to what is written next.
    pub(super) fn point_here(&mut self, place: usize) {
        debug_assert!(self.waiting.is_none(), "nothing was written for the offset before");
        self.waiting = Some(place);
    }

    /// Pads so that the position `ahead` bytes further on is a multiple of `size`.
    fn align(&mut self, size: usize, ahead: usize) {
        while !(self.bytes.len() + ahead).is_multiple_of(size) {
            self.bytes.push(0);
        }
    }

    /// Makes the waiting offset point to the end of the bytes.
    fn begin(&mut self) {
        if let Some(place) = self.waiting.take() {
            let offset = (self.bytes.len() - place) as u32;
            self.bytes[place..place + 4].copy_from_slice(&offset.to_le_bytes());
        }
    }

    /// Writes a table and returns the places of its offsets, in the order of its fields.
    pub(super) fn table(&mut self, fields: &[Field]) -> Vec<usize> {
        let list = positions(fields);
        // First the position list, unless an earlier table has the same one; then the table, at a
        // multiple of eight because of the widest numbers.
        let known = self.lists.iter().find(|&&at| self.bytes[at..].starts_with(&list)).copied();
        let list_at = match known {
            Some(at) => {
                self.align(8, 0);
                at
            }
            None => {
                self.align(8, list.len());
                let at = self.bytes.len();
                self.lists.push(at);
                self.bytes.extend(&list);
                at
            }
        };
        let start = self.bytes.len();
        self.begin();
        self.bytes.extend(((start - list_at) as i32).to_le_bytes());
        let mut offsets = Vec::new();
        for field in fields {
            self.align(field.size().max(1), 0);
            match *field {
                Field::U8(value) => self.bytes.push(value),
                Field::I32(value) => self.bytes.extend(value.to_le_bytes()),
                Field::F64(value) => self.bytes.extend(value.to_le_bytes()),
                Field::Offset => {
                    offsets.push(self.bytes.len());
                    self.bytes.extend([0; 4]);
                }
                Field::None => {}
            }
        }
        offsets
    }

    /// Writes a text.
    pub(super) fn text(&mut self, text: &str) {
        self.align(4, 0);
        self.begin();
        self.bytes.extend((text.len() as u32).to_le_bytes());
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
    }

    /// Writes a list of values of `N` bytes each.
    pub(super) fn list<T, const N: usize>(
        &mut self,
        values: &[T],
        alignment: usize,
        bytes: impl Fn(&T) -> [u8; N],
    ) {
        self.align(alignment.max(4), 4);
        self.begin();
        self.bytes.extend((values.len() as u32).to_le_bytes());
        values.iter().for_each(|value| self.bytes.extend(bytes(value)));
    }

    /// Writes a list of offsets and returns their places.
    pub(super) fn offset_list(&mut self, count: usize) -> Vec<usize> {
        let zeros = vec![0u32; count];
        self.list(&zeros, 4, |zero| zero.to_le_bytes());
        (0..count).map(|index| self.bytes.len() - 4 * (count - index)).collect()
    }

    /// The buffer.
    pub(super) fn finish(mut self) -> Vec<u8> {
        debug_assert!(self.waiting.is_none(), "every offset points to something");
        self.align(8, 0);
        self.bytes
    }
}

/// The position list that comes before a table: its own size, the table's size, and for each field
/// its position in the table, or zero. The table begins at a multiple of eight, so that the list
/// depends on nothing else.
fn positions(fields: &[Field]) -> Vec<u8> {
    let mut size = 4;
    let mut list = Vec::new();
    for field in fields {
        let own = field.size();
        let position = if own == 0 { 0 } else { usize::next_multiple_of(size, own) };
        size = if own == 0 { size } else { position + own };
        list.extend((position as u16).to_le_bytes());
    }
    let head = [4 + list.len() as u16, size as u16].map(u16::to_le_bytes).concat();
    [head, list].concat()
}
