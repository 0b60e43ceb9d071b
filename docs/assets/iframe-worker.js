// The site's search runs in a worker, which browsers refuse on pages that are opened from a file. This class has the
// same interface and runs the script in a hidden frame. The script looks for its name, `IFrameWorker`, in the parent.
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      this.receive = event => {
        if (event.source === this.frame.contentWindow) {
          this.dispatchEvent(new MessageEvent("message", { data: event.data }))
        }
      }
      addEventListener("message", this.receive)
      const inside = this.frame.contentDocument
      this.frame.contentWindow.postMessage = message => this.answer(message)
      this.loaded = new Promise((resolve, reject) => {
        const script = inside.createElement("script")
        script.src = new URL(url, location.href).href
        script.onload = resolve
        script.onerror = () => reject(new Error(`${url} could not be loaded`))
        inside.body.append(script)
      })
    }

    answer(message) {
      this.dispatchEvent(new MessageEvent("message", { data: message }))
    }

    postMessage(message) {
      const target = this.frame.contentWindow
      this.loaded.then(() => target.dispatchEvent(new MessageEvent("message", { data: message })))
    }

    terminate() {
      removeEventListener("message", this.receive)
      this.frame.remove()
    }
  }

  window.IFrameWorker = IFrameWorker
  window.Worker = IFrameWorker
}
