//! Detects the format of a file from its first bytes; unsupported formats are named and refused.

use crate::error::{FormatError, Place, Problem};

/// A supported format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// XGBoost JSON.
    XgBoostJson,
    /// XGBoost UBJSON.
    XgBoostUbj,
    /// LightGBM text.
    LightGbm,
    /// CatBoost's binary format.
    CatBoostBinary,
    /// CatBoost's JSON.
    CatBoostJson,
    /// scikit-learn in a skops archive.
    Skops,
    /// ONNX protobuf.
    Onnx,
    /// A packed model.
    Packed,
}

/// How many bytes of a JSON file are searched for words that identify its library.
const JSON_HEAD: usize = 4096;

/// Detects the format of a file from its content.
pub(crate) fn detect(bytes: &[u8]) -> Result<Format, FormatError> {
    let refuse = |what: &str, advice| {
        Err(FormatError::new(Place::File, Problem::Unsupported { what: what.to_owned(), advice }))
    };
    let text = bytes.trim_ascii_start();
    match bytes {
        [] => refuse("an empty file", "give a model file"),
        [b'P', b'K', 3 | 5, ..] => Ok(Format::Skops),
        [b'S', b'P', b'K', ..] => Ok(Format::Packed),
        [b'{', b'L' | b'l' | b'i' | b'U' | b'I' | b'#' | b'$', ..] => Ok(Format::XgBoostUbj),
        [b'C', b'B', b'M', b'1', ..] => Ok(Format::CatBoostBinary),
        [0x80, 2..=5, ..] => refuse(
            "a Python pickle",
            "a pickle is a program that loading runs: save the model with skops.io.dump, as ONNX, \
             or use the Python package on the fitted object",
        ),
        [0x1f, 0x8b, ..] => refuse("a gzip file", "unpack it first"),
        [b'b', b'i', b'n', b'f', ..] | [b'b', b's', b'6', b'4', ..] => {
            refuse("XGBoost's old binary format", "load it in XGBoost and save it with a .json or .ubj name")
        }
        _ if text.starts_with(b"{") => {
            let format = detect_json(text)?;
            if format == Format::XgBoostJson && !bytes.starts_with(b"{") {
                return refuse(
                    "a JSON file with white space before its first brace",
                    "XGBoost knows its files by their first bytes and does not load it: remove the white space",
                );
            }
            Ok(format)
        }
        _ if is_lightgbm(text) => Ok(Format::LightGbm),
        // An ONNX model starts with its IR version: field 1, a small varint.
        [0x08, 1..=0x7f, ..] => Ok(Format::Onnx),
        _ => refuse(
            "a file of this kind",
            "supported are XGBoost .json and .ubj, LightGBM .txt, CatBoost .cbm and .json, scikit-learn .skops, \
             .onnx and packed .spk files",
        ),
    }
}

fn is_lightgbm(text: &[u8]) -> bool {
    text.starts_with(b"tree\n") || text.starts_with(b"tree\r\n")
}

fn detect_json(text: &[u8]) -> Result<Format, FormatError> {
    let head = &text[..text.len().min(JSON_HEAD)];
    let tail = &text[text.len().saturating_sub(JSON_HEAD)..];
    let has =
        |word: &str| [head, tail].iter().any(|part| part.windows(word.len()).any(|w| w == word.as_bytes()));
    let refuse = |what: &str, advice| {
        Err(FormatError::new(Place::File, Problem::Unsupported { what: what.to_owned(), advice }))
    };
    if has("\"oblivious_trees\"") || has("\"features_info\"") || has("\"scale_and_bias\"") {
        return Ok(Format::CatBoostJson);
    }
    if has("\"tree_info\"") && has("\"max_feature_idx\"") {
        return refuse(
            "the JSON of LightGBM's dump_model",
            "LightGBM itself cannot load it: save the model with save_model (text)",
        );
    }
    if !has("\"learner\"") {
        return refuse(
            "a JSON file without the field \"learner\", which XGBoost's models have",
            "supported are the files of XGBoost's and CatBoost's save_model",
        );
    }
    Ok(Format::XgBoostJson)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_told_apart() {
        let cases: [(&[u8], Format); 9] = [
            (b"SPK\x01", Format::Packed),
            (b"{\"learner\":{}}", Format::XgBoostJson),
            (b"{ \n\"learner\":{}}", Format::XgBoostJson),
            (b"{L\0\0\0\0\0\0\0\x07learner", Format::XgBoostUbj),
            (b"tree\nversion=v4\n", Format::LightGbm),
            (b"CBM1", Format::CatBoostBinary),
            (b"{\"features_info\":{}, \"oblivious_trees\":[]}", Format::CatBoostJson),
            (b"PK\x03\x04", Format::Skops),
            (b"\x08\x0a\x12\x08skl2onnx", Format::Onnx),
        ];
        for (bytes, format) in cases {
            assert_eq!(detect(bytes).unwrap(), format, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_not_supported_is_named() {
        let cases: [(&[u8], &str); 5] = [
            (b" {\"learner\":{}}", "white space before its first brace"),
            (b"", "empty file"),
            (b"\x80\x04\x95", "pickle"),
            (b"{\"name\":\"tree\",\"max_feature_idx\":3,\"tree_info\":[]}", "dump_model"),
            (b"hello", "file of this kind"),
        ];
        for (bytes, words) in cases {
            let message = detect(bytes).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
    }
}
