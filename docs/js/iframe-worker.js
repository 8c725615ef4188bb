// Browsers refuse workers to pages that are opened as files, and the search is one. Here its script
// runs in a hidden frame instead. The offline plugin would take such a shim from a network.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.scope = frame.contentWindow
      this.scope.document.open()
      this.loaded = new Promise((resolve) => { this.scope.onload = resolve })
      // What the script of a worker posts goes to the page.
      this.scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      this.scope.document.write(`<script src="${new URL(url, document.baseURI)}"></script>`)
      this.scope.document.close()
    }

    async postMessage(data) {
      await this.loaded
      this.scope.dispatchEvent(new MessageEvent("message", { data }))
    }
  }
}
