/** Draws Markdown. While a text grows, marks that are not closed yet are shown as if they were. */
import { Component, createContext, type JSX } from 'preact';
import { useContext, useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { say } from '../texts.ts';
import { CopyButton } from '../parts/copy.tsx';
import { Code, isDiagram } from './code.tsx';
import { GrowingDocument, parseDocument } from './document.ts';
import { Formula } from './formula.tsx';
import { parseInline } from './inline.ts';
import { type Block, type BlockBody, type Inline, textOf } from './nodes.ts';
import { safeHref } from './links.ts';
import { BackButton, NoteCall, Notes, noteNumbers, notesIn } from './notes.tsx';
import { inlineText } from './plain-text.ts';

/** What a text shows in the places of its pictures, by their paths; each place is noted while it is drawn. */
export interface Pictures {
  draw: (path: string) => JSX.Element | undefined;
  /** Returns the function that ends it. */
  note: (path: string) => () => void;
}

export const PicturesInText = createContext<Pictures | undefined>(undefined);

/** Draws the number of a passage that a text cites. */
export type DrawCitation = (number: number, text: string) => JSX.Element;

export const CitationsInText = createContext<DrawCitation | undefined>(undefined);

/** How the text of a callout begins, which other networks show as it is. */
const CALLOUT_HEADING = /^\*\*(\w+)\*\*(?:: |\n|$)/;

interface MarkdownProps {
  text: string;
  /** More of it may come. */
  isGrowing?: boolean;
}

/** The blocks of a text; of a growing one, only those that changed are drawn again. */
export function Markdown({ text, isGrowing = false }: MarkdownProps): JSX.Element {
  const document = useRef<GrowingDocument>(undefined);
  const blocks = useMemo(() => {
    if (!isGrowing) return parseDocument(text);
    return (document.current ??= new GrowingDocument()).blocksOf(text);
  }, [text, isGrowing]);
  const id = useId();
  const numbers = noteNumbers(blocks);
  const notes = useMemo(() => ({ id, numbers: new Set(numbers) }), [id, numbers.join()]);
  const depths = depthsOf(blocks);
  return (
    <Notes.Provider value={notes}>
      {blocks.map((block, index) => (
        <TopBlock
          key={index}
          block={block}
          growing={isGrowing && index === blocks.length - 1}
          depth={depths[index] ?? 0}
        />
      ))}
    </Notes.Provider>
  );
}

/** The level of the chat's title, which the headings of an answer are below. */
const PAGE_LEVEL = 1;

/** How many headings each block is below, itself included: models begin at any level, and leave some out. */
function depthsOf(blocks: readonly BlockBody[]): number[] {
  const path: number[] = [];
  return blocks.map((block) => {
    if (block.type === 'heading') {
      while ((path.at(-1) ?? 0) >= block.level) path.pop();
      path.push(block.level);
    }
    return path.length;
  });
}

interface BlockProps<Body = BlockBody> {
  block: Body;
  growing: boolean;
  /** Of a heading: its own. */
  depth: number;
}

/** A block of the text itself: the same source looks the same. */
class TopBlock extends Component<BlockProps<Block>> {
  override shouldComponentUpdate({ block, growing, depth }: BlockProps<Block>): boolean {
    const { props } = this;
    return block.source !== props.block.source || growing !== props.growing || depth !== props.depth;
  }

  override render(): JSX.Element {
    return drawBlock(this.props);
  }
}

function drawBlock({ block, growing, depth }: BlockProps): JSX.Element {
  switch (block.type) {
    case 'paragraph':
      return <Paragraph text={block.text} growing={growing} />;
    case 'heading':
      return (
        <div class={`heading h${block.level}`} role="heading" aria-level={PAGE_LEVEL + depth} dir="auto">
          {drawInline(block.text, growing)}
        </div>
      );
    case 'code':
      return block.language.toLowerCase() === 'math' ? (
        <p>
          <Formula source={block.text} written={`\`\`\`math\n${block.text}\n\`\`\``} isDisplayed />
        </p>
      ) : (
        <Code language={block.language} text={block.text} isDrawn={isDiagram(block.language) && !growing} />
      );
    case 'rule':
      return <hr />;
    case 'quote':
      return <Quote block={block} growing={growing} depth={depth} />;
    case 'list':
      return <List block={block} growing={growing} depth={depth} />;
    case 'table':
      return <Table block={block} growing={growing} />;
    default:
      return block satisfies never;
  }
}

/** The blocks in a quote, whose headings are below that of the text around it. */
function drawBlocks(blocks: readonly BlockBody[], growing: boolean, depth: number): JSX.Element[] {
  return blocks.map((block, index) =>
    drawBlock({ block, growing: growing && index === blocks.length - 1, depth: depth + 1 }),
  );
}

/** A paragraph, and a list of the footnotes that begin in its lines. */
function Paragraph({ text, growing }: { text: string; growing: boolean }): JSX.Element {
  const { id } = useContext(Notes);
  const { lead, notes } = notesIn(text);
  if (notes.length === 0) return <p dir="auto">{drawInline(text, growing)}</p>;
  return (
    <div class="notes">
      {lead !== '' && <p dir="auto">{drawInline(lead, false)}</p>}
      <ol aria-label={say('page.markdown.notes')}>
        {notes.map(({ number, text: note }, index) => (
          <li
            key={number}
            id={`${id}-${number}`}
            value={Number(number)}
            data-note={number}
            tabIndex={-1}
            dir="auto"
          >
            {drawInline(note, growing && index === notes.length - 1)} <BackButton number={number} />
          </li>
        ))}
      </ol>
    </div>
  );
}

function Quote({ block, growing, depth }: BlockProps<Extract<BlockBody, { type: 'quote' }>>): JSX.Element {
  const { callout, children } = block;
  if (callout === undefined)
    return <blockquote dir="auto">{drawBlocks(children, growing, depth)}</blockquote>;
  const [first, ...others] = children;
  const [heading = '', word] = first?.type === 'paragraph' ? (CALLOUT_HEADING.exec(first.text) ?? []) : [];
  const rest = first?.type === 'paragraph' ? first.text.slice(heading.length) : '';
  const inside = rest === '' ? others : [{ type: 'paragraph' as const, text: rest }, ...others];
  return (
    <div class={`callout ${callout}`} role="note" dir="auto">
      <p class="callout-title">{word}</p>
      {drawBlocks(inside, growing, depth)}
    </div>
  );
}

function List({ block, growing, depth }: BlockProps<Extract<BlockBody, { type: 'list' }>>): JSX.Element {
  const { start, items } = block;
  const rows = items.map(({ checked, tight, children }, index) => {
    const isOpen = growing && index === items.length - 1;
    return (
      <li class={checked === undefined ? undefined : 'task'} dir="auto">
        {checked !== undefined && (
          <input
            type="checkbox"
            disabled
            checked={checked}
            aria-label={checked ? say('page.part.done') : say('page.markdown.open')}
          />
        )}
        {children.map((child, at) => {
          const isLast = isOpen && at === children.length - 1;
          return tight && child.type === 'paragraph'
            ? drawInline(child.text, isLast)
            : drawBlock({ block: child, growing: isLast, depth: depth + 1 });
        })}
      </li>
    );
  });
  if (start === undefined) return <ul dir="auto">{rows}</ul>;
  return (
    <ol start={start} dir="auto">
      {rows}
    </ol>
  );
}

function Table({
  block,
  growing,
}: Omit<BlockProps<Extract<BlockBody, { type: 'table' }>>, 'depth'>): JSX.Element {
  const { align, head, rows } = block;
  const drawRow = (row: readonly string[], Cell: 'th' | 'td', isOpen: boolean): JSX.Element => (
    <tr>
      {row.map((text, column) => (
        <Cell class={`to-${align[column] ?? 'left'}`} dir="auto">
          {drawInline(text, isOpen && column === row.length - 1)}
        </Cell>
      ))}
    </tr>
  );
  const cells = (): string => [head, ...rows].map((row) => row.map(inlineText).join('\t')).join('\n');
  return (
    <div class="table" dir="auto">
      <div class="table-scroll" tabIndex={0} role="group" aria-label={say('page.markdown.table')}>
        <table>
          <thead>{drawRow(head, 'th', growing && rows.length === 0)}</thead>
          <tbody>{rows.map((row, index) => drawRow(row, 'td', growing && index === rows.length - 1))}</tbody>
        </table>
      </div>
      <CopyButton text={cells} label={say('page.markdown.copy_table')} />
    </div>
  );
}

type Drawn = JSX.Element | string;

function drawInline(text: string, growing: boolean): Drawn[] {
  return parseInline(text, growing).map(drawNode);
}

function drawNode(node: Inline): Drawn {
  switch (node.type) {
    case 'code':
      return <code>{node.text}</code>;
    case 'break':
      return <br />;
    case 'formula':
      return <Formula source={node.source} written={node.text} isDisplayed={node.isDisplayed} />;
    case 'citation':
      return <CitationPlace number={node.number} text={node.text} />;
    case 'note':
      return <NoteCall number={node.number} text={node.text} />;
    case 'link':
      return <Link node={node} />;
    case 'label':
      return <span class="open-link">{node.children.map(drawNode)}</span>;
    case 'picture':
      return <PicturePlace path={node.path}>{node.children.map(drawNode)}</PicturePlace>;
    case 'strong':
      return <strong>{node.children.map(drawNode)}</strong>;
    case 'em':
      return <em>{node.children.map(drawNode)}</em>;
    case 'del':
      return <del>{node.children.map(drawNode)}</del>;
    default:
      return node.text;
  }
}

const ELSEWHERE = { target: '_blank', rel: 'noopener noreferrer nofollow' };

/**
 * A link. One to a picture of another server says so. The picture is not loaded, not even on a press: its request would tell
 * that server who reads the answer, and what its address says of the chat, if a text that the model has read made it write so.
 * The page's policy (`img-src 'self'`) holds whatever this parser overlooks, and has no exception for single pictures.
 */
function Link({ node }: { node: Extract<Inline, { type: 'link' }> }): JSX.Element {
  const { href, children, isPicture, host: hiddenHost } = node;
  if (!isPicture)
    return (
      <a href={href} title={href} {...ELSEWHERE}>
        {children.map(drawNode)}
        {hiddenHost !== undefined && ` (${hiddenHost})`}
      </a>
    );
  const { host } = new URL(href);
  const name = textOf(children);
  return (
    <a href={href} title={href} class="picture-link" {...ELSEWHERE}>
      {safeHref(name) === href
        ? say('page.markdown.picture', { host })
        : say('page.markdown.picture_named', { name, host })}
    </a>
  );
}

/** The number of a cited passage; what was written where nothing draws it. */
function CitationPlace({ number, text }: { number: number; text: string }): JSX.Element {
  const draw = useContext(CitationsInText);
  return draw === undefined ? <>{text}</> : draw(number, text);
}

/** The place of a file of the session; its description where there is no such picture. */
function PicturePlace({ path, children }: { path: string; children: Drawn[] }): JSX.Element {
  const pictures = useContext(PicturesInText);
  useLayoutEffect(() => pictures?.note(path), [pictures?.note, path]);
  return <span class="picture-place">{pictures?.draw(path) ?? children}</span>;
}
