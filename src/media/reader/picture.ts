/** Pictures: opened within limits, scaled down, and rewritten with nothing but their pixels. */
import { MAX_PICTURE_SIDE, MAX_PIXELS, type ReaderAnswer } from './protocol.ts';

/** Formats that are opened, with the name of their loader. Sharp itself refuses everything else. */
const LOADERS: Readonly<Record<string, string>> = {
  'image/jpeg': 'VipsForeignLoadJpeg',
  'image/png': 'VipsForeignLoadPng',
  'image/apng': 'VipsForeignLoadPng',
  'image/webp': 'VipsForeignLoadWebp',
  'image/gif': 'VipsForeignLoadNsgif',
  'image/avif': 'VipsForeignLoadHeif',
  'image/heic': 'VipsForeignLoadHeif',
  'image/heif': 'VipsForeignLoadHeif',
  'image/tiff': 'VipsForeignLoadTiff',
};

const QUALITY = 85;

/** True for a type that models may get as a picture. */
export function isPicture(mimeType: string): boolean {
  return mimeType in LOADERS;
}

/**
 * The picture as a JPEG, upright, on white where it was transparent. A moving picture is its first frame. May throw any
 * error.
 */
export async function readPicture(bytes: Buffer): Promise<Pick<ReaderAnswer, 'picture'> & { image: Buffer }> {
  const { default: sharp } = await import('sharp');
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: [...new Set(Object.values(LOADERS))] });
  const { data, info } = await sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error' })
    .rotate()
    .resize(MAX_PICTURE_SIDE, MAX_PICTURE_SIDE, { fit: 'inside', withoutEnlargement: true })
    .flatten({ background: 'white' })
    .jpeg({ quality: QUALITY, chromaSubsampling: '4:4:4' })
    .toBuffer({ resolveWithObject: true });
  return { image: data, picture: { width: info.width, height: info.height } };
}
