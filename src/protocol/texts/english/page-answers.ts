/** The texts of answers on the page: what Markdown becomes there. */

export const pageMarkdown = {
  'page.markdown.copy_code': 'Copy the code',
  'page.markdown.code': 'Code',
  'page.markdown.table': 'Table',
  'page.markdown.copy_table': 'Copy the table',
  'page.markdown.open': 'open',
  'page.markdown.uncoloured': 'Not highlighted: {why}',
  'page.markdown.diagram': 'Diagram',
  'page.markdown.show_code': 'Code',
  'page.markdown.not_drawn': 'Not drawn: {why}',
  'page.markdown.not_typeset': 'Not typeset: {why}',
  'page.markdown.notes': 'Footnotes',
  'page.markdown.note': 'Footnote {number}',
  'page.markdown.note_back': 'Back to the text',
  'page.markdown.picture': 'Picture ({host})',
  'page.markdown.picture_named': 'Picture: {name} ({host})',
} as const;
