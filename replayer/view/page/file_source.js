// @ts-check
// The data of a page that was saved with `kubetape export --format html`: none when a server sent it.

/** @returns {Promise<any>} */
export async function fileData() {
  return null;
}

export class FileSource {
  /** @param {any} data */
  constructor(data) {
    this.data = data;
    this.isFile = true;
  }
}
