// A photo as the game keeps it: the middle square, 300 by 300, JPEG. Everything happens on the phone.

const SIDE = 300;
const QUALITY = 0.7;
const LONGEST = 200000;

/** A data URL of at most 200 000 characters; throws when the file is no picture. */
export async function toPhoto(file) {
  const picture = await createImageBitmap(file, { imageOrientation: 'from-image' });
  const side = Math.min(picture.width, picture.height);
  if (!side) throw new Error('empty picture');
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = SIDE;
  const pen = canvas.getContext('2d');
  pen.imageSmoothingQuality = 'high';
  pen.drawImage(picture, (picture.width - side) / 2, (picture.height - side) / 2, side, side, 0, 0, SIDE, SIDE);
  picture.close?.();
  for (let quality = QUALITY; quality > 0.2; quality -= 0.15) {
    const url = canvas.toDataURL('image/jpeg', quality);
    if (url.length <= LONGEST) return url;
  }
  throw new Error('too large');
}
