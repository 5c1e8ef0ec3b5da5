//! The whole page: head, style, and the sections in their order.

use crate::description::Report;
use crate::{escape, section};

const STYLE: &str = include_str!("style.css");

/// The page as HTML.
pub(crate) fn page(report: &Report) -> String {
    let mut body = String::new();
    let sections = [
        section::headline::html(report),
        section::counterexample::html(report),
        section::scores::html(report),
        section::sizes::html(report),
        section::weights::html(report),
        section::trees::html(report),
        section::features::html(report),
        section::evidence::html(report),
        section::run::html(report),
        section::files_and_settings::html(report),
    ];
    body.extend(sections);
    let title = escape::text(&section::headline::title(report));
    // The policy forbids scripts and network access, even if a label contained some.
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
}
